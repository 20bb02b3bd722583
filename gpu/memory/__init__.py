"""What a GPU's front end and compute units see of memory: ports, requests and answers."""

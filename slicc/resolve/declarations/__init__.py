"""Types, functions, ports, actions, transitions and parameters, resolved."""

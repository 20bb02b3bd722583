"""The verbs of ``gpu-tester``: one module each, imported when it is called."""

"""The Python backend: a typed protocol in, a readable package of controllers out.

Reading order follows the data: ``names`` chooses all names, ``machine`` and ``definitions`` prepare
what the templates print, ``emit`` translates bodies and puts them on lines, ``package`` collects
the modules, ``writer`` stores them, ``importer`` imports a package compiled in this process.
"""

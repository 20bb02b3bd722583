"""The Python backend: a typed protocol in, a readable package of controllers out.

Reading order follows the data: ``names`` fixes what everything is called, ``views`` prepares what
the templates print, ``expressions`` and ``statements`` translate bodies, ``emitter`` and ``layout``
put them on lines, ``writer`` stores the package, ``load`` imports one that was made on the fly.
"""

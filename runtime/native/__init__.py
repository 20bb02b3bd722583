"""The native engine, seen from Python: finding a compiler, building, loading, running.

The C++ headers in ``cpp`` are the runtime in native form; ``docs/semantics.md`` says what both
engines must do. Nothing here knows how a protocol becomes C++: a caller that runs one brings
:class:`runtime.native.build.Sources`.
"""

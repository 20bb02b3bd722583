"""Descriptions of systems for protocols that are not shipped: what their files cannot say.

One TOML file per protocol, found by the protocol's name, else by its machines and buffers
(``runtime.known_systems``). They hold facts alone: which buffers keep order, which parameters
follow from which counts, who drives what. Everything else is inferred.
"""

"""Descriptions of systems for protocols that are not shipped: what their files cannot say.

One TOML file per protocol, found by the protocol's machines, their states and their buffers, with
its name as a hint (``protocols.catalog``); ``states.toml`` has the states. They hold facts
alone: which buffers keep order, which parameters follow from which counts, who drives what.
Everything else is inferred.
"""

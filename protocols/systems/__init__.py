"""Descriptions of systems for protocols that are not shipped: what their files cannot say.

One TOML file per protocol, found by the protocol's machines, their states and their buffers; its
name lowers the threshold (``protocols.catalog``); ``states.toml`` has the states. The files hold
facts only: which buffers keep order, which parameters follow from which counts, which agents drive
which ports.
Everything else is inferred.
"""

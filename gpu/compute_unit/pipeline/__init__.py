"""Time in a compute unit: fetch, arbitration, pipelines."""

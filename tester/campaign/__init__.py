"""A run of `gpu-tester`: numbered legs, workers, coverage, and a failing leg run again."""

"""What code objects come in: bundles of several targets, URIs, and files that are none."""

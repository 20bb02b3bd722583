"""The tests that are shipped, each a text that `gcn litmus` reads."""

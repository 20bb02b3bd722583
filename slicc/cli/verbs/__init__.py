"""What each verb of ``slicc`` does: one module a verb."""

"""What each verb takes: one class a verb, of common parts; nothing heavy is imported here."""

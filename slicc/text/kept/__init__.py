"""What spares a later run some work: private files, and the tables of grammars in them."""

"""Results of checks as values, and the formats in which continuous integration reads them."""

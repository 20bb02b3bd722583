"""What a run found, for programs and continuous integration: JSON, JUnit, SARIF, annotations."""

"""The command line: each command parses its options, calls the API and prints the result."""

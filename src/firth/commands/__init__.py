"""Commands of the command line: parse, call the library, show the result."""

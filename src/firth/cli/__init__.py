"""The command line: parse, call the library, show the result; a file a group of commands."""

"""`python -m firth`: the command line."""

from firth.cli.main import main

main()

"""`python -m firth` runs the command line."""

from firth.cli.main import main

main()

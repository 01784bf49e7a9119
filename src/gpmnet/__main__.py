"""`python -m gpmnet`."""

from gpmnet.cli import main

main()

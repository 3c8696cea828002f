"""The command line. Modules here parse and print; the work is done elsewhere."""

from metaeval.cli.app import main

__all__ = ["main"]

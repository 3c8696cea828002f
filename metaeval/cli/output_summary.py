"""Moved to `output.py`."""

from metaeval.cli.output import say_written

__all__ = ["say_written"]

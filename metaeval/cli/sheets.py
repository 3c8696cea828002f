"""Moved to `output.py`."""

from metaeval.cli.output import finish, sheet_folder, show_grids, write_sheets

__all__ = ["finish", "sheet_folder", "show_grids", "write_sheets"]

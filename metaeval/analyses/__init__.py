"""Declarations of analyses: the command line, the Python functions and the pages of options are derived from them."""

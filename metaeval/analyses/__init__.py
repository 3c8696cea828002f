"""One declaration per analysis: the command line, the Python function and the pages of options follow from it."""

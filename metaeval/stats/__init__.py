"""Statistics: pure numpy / scipy functions; no files, no models, no text."""

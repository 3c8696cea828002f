"""The frame: settings, declarations, files, parsing, tables, the registry, errors."""

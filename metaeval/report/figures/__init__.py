"""Figures of results and plain tables. They need matplotlib: pip install 'metaeval[report]'."""

"""SCiFi (arXiv 2406.06125): citations held against the facts of a sentence, from the paper's text and its tables.

No code was published; what the paper leaves open is an option with a name (`model.py`).
"""

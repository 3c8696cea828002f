"""SCiFi (arXiv 2406.06125): citations compared with the facts of a sentence, after the paper's text and tables.

The paper published no code; every choice that it leaves open is an option (`ScifiOptions` in `data_model.py`).
"""

"""People's labels of citations, estimates from labels and scores, and release gates."""

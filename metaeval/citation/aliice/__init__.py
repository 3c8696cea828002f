"""ALiiCE (arXiv 2406.13375): claims by the place of their citations in the dependency tree, and scores on them.

Source: "ALiiCE: Evaluating Positional Fine-grained Citation Generation" and its released code, each a profile.
"""

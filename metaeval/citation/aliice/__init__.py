"""ALiiCE (arXiv 2406.13375): claims by the positions of citations in the dependency tree, and their scores.

The paper "ALiiCE: Evaluating Positional Fine-grained Citation Generation" and its released code are each a profile.
"""

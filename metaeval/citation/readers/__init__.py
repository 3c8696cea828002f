"""Readers of model answers: each published format, and one of our own, to `Answer`."""

"""Explanations of signatures, and differences between signatures, result files or jobs."""

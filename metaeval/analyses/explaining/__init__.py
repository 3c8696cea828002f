"""Explanations of signatures, comparisons of jobs, and the page of options."""

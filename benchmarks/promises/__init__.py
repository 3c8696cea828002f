"""Simulations of the promises that tables, sentences and gates make: `python -m benchmarks.promises`."""

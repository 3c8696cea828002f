"""Simulations of the promises that tables, sentences, gates and certificates make: `python -m benchmarks.promises`."""

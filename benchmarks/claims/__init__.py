"""How many claims of the expanded profile people find clean, on 200 drawn sentences: `python -m benchmarks.claims`."""

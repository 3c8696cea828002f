"""Model backends that metrics draw on: loading, tokenising, batching."""

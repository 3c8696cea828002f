"""Scoring of pairs: the Metric contract, the engine, the score store, model backends."""

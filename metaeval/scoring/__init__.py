"""How pairs get scores: the Metric contract, the engine, the score store, model backends."""

"""One small file per data set: a function from its files to a `Corpus`. The cards are in `cards.toml`."""

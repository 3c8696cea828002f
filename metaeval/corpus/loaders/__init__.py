"""One small file per data set: a card (origin, licence, checksums) and a function from files to a `Corpus`."""

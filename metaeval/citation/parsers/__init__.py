"""Dependency parsers behind one interface: a batch of texts in, one parse (tokens, labels, heads) per text out."""

"""Contract checks for what others write: `pytest --pyargs metaeval.conformance --metric module:Class`."""

"""Contract checks for other packages' plug-ins: `pytest --pyargs metaeval.conformance --metric module:Class`."""

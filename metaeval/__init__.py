"""How far can a faithfulness metric be trusted? Meta-evaluation of citation-support metrics."""

__version__ = "0.1.0"

"""How far can a faithfulness metric be trusted? Meta-evaluation of citation-support metrics.

    import metaeval

    results = metaeval.run(dataset="mini", metrics=["overlap", "rouge"], protocols=["classification"])
    results[0].rows[0].values["overall"].value

Everything here is imported when it is first used, so that `import metaeval` costs nothing.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "metaeval.analyses.arrays": ("evaluate_arrays",),
    "metaeval.api": ("evaluate_scores", "load_corpus", "load_ratings", "score"),
    "metaeval.core.config": ("RunConfig",),
    "metaeval.corpus.model": ("Citation", "Corpus", "Document", "Evidence", "Statement", "SupportLevel"),
    "metaeval.corpus.ratings": ("Rating", "Ratings"),
    "metaeval.report.result": ("Result",),
    "metaeval.scoring.functions": ("metric",),
    "metaeval.scoring.contract": ("Metric", "MetricCard", "MetricOptions", "PairScore", "Status"),
}
ANALYSES = {
    **{"check_gate": "gate.check", "fit_gate": "gate.fit", "score_files": "score"},
    **{name: name for name in ("cite", "compare", "data", "estimate", "evaluate", "label", "metrics", "multiverse")},
    **{name: name for name in ("pairs", "plan", "results", "run", "thresholds", "view")},
}
"""By name in Python: the registered name of the analysis, or group of analyses, that the function is made from."""
HOMES = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted({*HOMES, *ANALYSES})]


def __getattr__(name: str) -> Any:
    if name in ANALYSES:
        from metaeval.analyses.function_of_analysis import function_of

        globals()[name] = function_of(ANALYSES[name], name)
        return globals()[name]
    if name not in HOMES:
        raise AttributeError(f"module 'metaeval' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the names for tab completion, including those that are not imported yet."""
    return sorted({name for name in globals() if name.startswith("__")} | {*__all__})

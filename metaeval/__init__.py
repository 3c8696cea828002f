"""How far can a faithfulness metric be trusted? Meta-evaluation of citation-support metrics.

    import metaeval

    results = metaeval.run(dataset="mini", metrics=["overlap", "rouge"], protocols=["classification"])
    results[0].rows[0].values["overall"].value

Everything here is imported when it is first used, so that `import metaeval` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from metaeval.analyses import (
        annotators,
        calibrate,
        certify,
        check_claim,
        check_gate,
        compare,
        decide,
        diff,
        estimate,
        evaluate,
        explain,
        figures,
        fit_gate,
        label,
        multiverse,
        power,
        tables,
        view,
    )
    from metaeval.api import cite, evaluate_scores, generate, load_corpus, load_ratings, pairs, run, score
    from metaeval.config import RunConfig
    from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Rating, Ratings, Statement, SupportLevel
    from metaeval.groups import data, metrics, results, shards, slurm, store, table
    from metaeval.report.result import Result
    from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Status

_HOMES = {
    "metaeval.analyses": (
        *("annotators", "calibrate", "certify", "check_claim", "check_gate", "compare", "decide", "diff", "estimate"),
        *("evaluate", "explain", "figures", "fit_gate", "label", "multiverse", "power", "tables", "view"),
    ),
    "metaeval.api": ("cite", "evaluate_scores", "generate", "load_corpus", "load_ratings", "pairs", "run", "score"),
    "metaeval.config": ("RunConfig",),
    "metaeval.corpus.model": (
        *("Citation", "Corpus", "Document", "Evidence", "Rating", "Ratings", "Statement", "SupportLevel"),
    ),
    "metaeval.groups": ("data", "metrics", "results", "shards", "slurm", "store", "table"),
    "metaeval.report.result": ("Result",),
    "metaeval.scoring.contract": ("Metric", "MetricCard", "MetricOptions", "PairScore", "Status"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Citation",
    "Corpus",
    "Document",
    "Evidence",
    "Metric",
    "MetricCard",
    "MetricOptions",
    "PairScore",
    "Rating",
    "Ratings",
    "Result",
    "RunConfig",
    "Statement",
    "Status",
    "SupportLevel",
    "__version__",
    "annotators",
    "calibrate",
    "certify",
    "check_claim",
    "check_gate",
    "cite",
    "compare",
    "data",
    "decide",
    "diff",
    "estimate",
    "evaluate",
    "evaluate_scores",
    "explain",
    "figures",
    "fit_gate",
    "generate",
    "label",
    "load_corpus",
    "load_ratings",
    "metrics",
    "multiverse",
    "pairs",
    "power",
    "results",
    "run",
    "score",
    "shards",
    "slurm",
    "store",
    "table",
    "tables",
    "view",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'metaeval' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    """Names that can be completed, those that are not imported yet among them."""
    return sorted({name for name in globals() if name.startswith("__")} | {*__all__})

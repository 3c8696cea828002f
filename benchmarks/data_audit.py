"""The page on what the labels of the published data sets mean: whole evidence, shortcut features, duplicates, votes.

python -m benchmarks.data_audit FOLDER > docs/reference/data-audit.md
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.corpus.duplicates import Duplicates, duplicates
from metaeval.corpus.model import Citation
from metaeval.corpus.pair_table import INCOMPLETE, WHOLE
from metaeval.report.markdown import escape
from metaeval.report.ranking_measures import LEVELS
from metaeval.report.result import FULL_SUPPORT, Column, Result
from metaeval.report.table import UNDEFINED, format_value, plain
from metaeval.runs.data import Job, load_corpus, prepare
from metaeval.runs.evaluate import evaluate, find_protocols, trivial_columns
from metaeval.runs.score import AlignedColumn
from metaeval.scoring.controls import GOLD_CONTROLS, OVERLAP
from metaeval.stats.agreement import krippendorff_alpha
from metaeval.stats.estimate import Estimate

_DOCS = """# What the data sets' labels mean

How many chunks of fully supported citations hold a whole evidence set, what a perfect detector of full support would
score under `evidence.rule=touched`, and what predicts levels without reading a source. `metaeval data show NAME`
prints the counts of one data set or of a corpus of your own; [What a chunk's level means](../explanation/evidence.md)
explains the rules. This page is made by

    python -m benchmarks.data_audit FOLDER > docs/reference/data-audit.md
"""
_LEGEND = """Words a page: the median. Whole sets: of the chunks of at most 150 words with evidence of a full citation.
Full / partial ROC-AUC (FS-PS): of a perfect detector of full support, under `touched`. Duplicates: statement texts and
chunk texts that stand in several groups, and statements judged twice against the same page. Alpha: Krippendorff's, over
the votes of annotators. A dash: not known, or none. Given away: the interval of a control's ROC-AUC leaves out 50."""
_COLUMNS = (
    *("citations", "full / partial / none", "words a page", "whole sets", "full / partial ROC-AUC (FS-PS)"),
    *("duplicates", "alpha of votes"),
)
_PUBLISHED = (
    *(("mini", "all"), ("wice", "dev"), ("wice", "test"), ("factcheck_gpt", "all"), ("expertqa", "all")),
    *(("qasem", "dev"), ("qasem", "test"), ("gensearch", "intrinsic_halls"), ("frank", "all")),
    ("xsum_hallucination", "all"),
)
_AUCS = {"fs_ns": "FS-NS", "fs_ps": "FS-PS", "ps_ns": "PS-NS"}
"""The measures of the classification protocol that the page shows, and their names on it."""
_PERCENT = Column(key="auc", label="ROC-AUC", scale=100, digits=1)
_GIVES_NOTHING_AWAY = {*GOLD_CONTROLS, "constant", "random", OVERLAP}
"""The controls that know the gold, know nothing, or read the source."""


class Audit(NamedTuple):
    """What is found in a data set.

    levels: number of citations by level. words: of a page, the median. whole, touched: chunks that hold a whole
    evidence set of a full citation, and any of its evidence; None where none is marked. perfect: FS-PS of a perfect
    detector of full support under the rule `touched`, if it is defined. giveaways: by unit, the controls whose
    intervals of ROC-AUC leave out one half, with these values. alpha: of the votes, if there are several a unit.
    """

    name: str
    levels: Mapping[str, int]
    words: float
    whole: int
    touched: int | None
    perfect: float | None
    giveaways: Mapping[str, Mapping[str, str]]
    twins: Duplicates
    alpha: float | None


def audit(config: RunConfig) -> Audit:
    """Audit the data set of a run, with its settings; raises `UserError` for data without citations."""
    corpus, name, split = load_corpus(config)
    base = config.model_copy(update={"protocols": ("classification",), "pool": "own"})
    jobs = {unit: prepare(base.model_copy(update={"unit": unit}), corpus) for unit in ("chunk", "citation")}
    giveaways = {}
    for unit, job in jobs.items():
        # Where only short pages have chunks of a known level, these chunks do not represent the data.
        if fmean(row.level is not None for row in job.rows) >= 0.5:
            columns = trivial_columns(job, overlap=True)
            columns = [column for column in columns if column.name not in _GIVES_NOTHING_AWAY]
            giveaways[unit] = dict(_informative(_evaluated(job, columns)))
    is_marked = any(citation.evidence for citation in corpus.citations)
    counts = jobs["chunk"].table.evidence
    perfect = None
    if is_marked:
        touched = base.evidence.model_copy(update={"rule": "touched"})
        exact = base.interval.model_copy(update={"resamples": 0})
        update = {"unit": "chunk", "evidence": touched, "interval": exact}
        detectors = _evaluated(prepare(base.model_copy(update=update), corpus), []).perfect
        perfect = detectors.values.get("fs_ps", {}).get(FULL_SUPPORT) if detectors else None
    pages = {citation.document_id for citation in corpus.citations}
    return Audit(
        name=f"{name}, {split}",
        levels=corpus.level_counts(),
        words=median(len(corpus.documents[page].text.split()) for page in pages),
        whole=counts[WHOLE],
        touched=counts[WHOLE] + counts[INCOMPLETE] if is_marked else None,
        perfect=perfect,
        giveaways=giveaways,
        twins=duplicates(corpus, jobs["chunk"].pairs),
        alpha=_alpha(corpus.citations),
    )


def _evaluated(job: Job, columns: Sequence[AlignedColumn]) -> Result:
    ((protocol, options),) = find_protocols(job.config)
    return evaluate(job.frame(protocol), columns, protocol, options, job.config)


def _informative(result: Result) -> Iterator[tuple[str, str]]:
    """Yield the name of each control that predicts levels, and its informative measures with their values, as text."""
    for row in result.rows:
        values = {_AUCS[column.key]: row.values[column.key] for column in result.columns if column.key in _AUCS}
        # A prediction from other groups that is wrong more often than not says nothing of these.
        lowest = 0.0 if row.metric == "statement only" else 0.5
        told = [f"{key} {format_value(value.value, _PERCENT)}" for key, value in values.items() if _off(value, lowest)]
        if told:
            yield row.metric, ", ".join(told)


def _off(value: Estimate, lowest: float) -> bool:
    return value.low is not None and value.high is not None and (value.low > 0.5 or value.high < lowest)


def _alpha(citations: Collection[Citation]) -> float | None:
    """Return Krippendorff's alpha of the votes on the parts of citations; None if no part has two votes or more."""
    units = [votes for citation in citations for votes in citation.meta.get("votes", ()) if len(votes) > 1]
    if not units:
        return None
    alpha = krippendorff_alpha(np.array([*zip_longest(*units, fillvalue=np.nan)], dtype=np.float64).T, "interval")
    return alpha if np.isfinite(alpha) else None


def findings(found: Audit) -> Iterator[str]:
    """Yield what is to be known about results on the data set, in sentences, if there is anything."""
    if found.touched is not None and found.whole < found.touched:
        yield (
            f"{found.whole:,} of {found.touched:,} chunks hold a whole set: a perfect detector of {FULL_SUPPORT} has "
            f"full / partial ROC-AUC {format_value(found.perfect, _PERCENT)} with evidence.rule=touched."
        )
    for unit, controls in found.giveaways.items():
        if controls:
            named = "; ".join(f"{name} ({measures})" for name, measures in controls.items())
            yield f"Unit {unit} has shortcut features: {named}."


def markdown(audits: Sequence[Audit], left_out: Mapping[str, str]) -> str:
    """Several audits as one page of documentation. left_out: of data that could not be audited, why."""
    rows = [
        (
            found.name,
            f"{sum(found.levels.values()):,}",
            " / ".join(f"{found.levels[level]:,}" for level in LEVELS),
            f"{found.words:,.0f}",
            "no evidence" if found.touched is None else f"{found.whole:,} of {found.touched:,}",
            format_value(found.perfect, _PERCENT),
            f"{found.twins.statements:,} / {found.twins.chunks:,} / {found.twins.judged_twice:,}",
            UNDEFINED if found.alpha is None else f"{found.alpha:.2f}",
        )
        for found in audits
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (("data", *_COLUMNS), ("---", *("--:" for _ in _COLUMNS)))]
    lines += [f"| {' | '.join(escape(plain(cell)) for cell in row)} |" for row in rows]
    said = {found.name: " ".join(findings(found)) for found in audits}
    parts = [_DOCS.rstrip(), "\n".join(lines), _LEGEND, "## Findings", _listed(said)]
    return "\n\n".join([*parts, *(["## Not audited", _listed(left_out)] if left_out else [])]) + "\n"


def _listed(said: Mapping[str, str]) -> str:
    return "\n".join(f"- **{escape(plain(name))}**: {escape(plain(text or 'none.'))}" for name, text in said.items())


def documentation(data: Path | None) -> str:
    """The audits of all published data sets as one page. data: the folder with their files; None: they are fetched."""
    audits, left_out = [], {}
    for name, split in _PUBLISHED:
        try:
            audits.append(audit(RunConfig(dataset=name, split=split, data=None if name == "mini" else data)))
        except UserError as error:
            left_out[f"{name}, {split}"] = str(error)
    return markdown(audits, left_out)


if __name__ == "__main__":
    print(documentation(Path(sys.argv[1]) if sys.argv[1:] else None), end="")

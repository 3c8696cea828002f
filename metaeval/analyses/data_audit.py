"""An audit of a data set's labels: whole evidence sets, rules for evidence, shortcut features, duplicates, votes."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from statistics import fmean, median
from typing import get_args

import numpy as np

from metaeval.config import RunConfig
from metaeval.corpus.chunks import Chunking, chunk_corpus
from metaeval.corpus.corpus_file import LEVELS
from metaeval.corpus.model import Citation, Corpus, SupportLevel
from metaeval.corpus.pair_table import Rule, build_pairs
from metaeval.corpus.sentences import split_sentences
from metaeval.errors import UserError
from metaeval.files import write_texts
from metaeval.report.data_audit import (
    PAGE,
    Audit,
    Duplicates,
    EvidenceSets,
    RuleLabels,
    ShortcutFeature,
    VoteAgreement,
    WholeSets,
    as_json,
    grids,
    page,
)
from metaeval.report.html_report import Picture
from metaeval.report.result import Result
from metaeval.report.table import known
from metaeval.report.terminal import text_of
from metaeval.runs.evaluation import evaluate, find_protocols
from metaeval.runs.prepared_run import Job, load_corpus, prepare
from metaeval.runs.score_columns import AlignedColumn, trivial_columns
from metaeval.scoring.controls import GOLD_CONTROLS, OVERLAP
from metaeval.stats.agreement import krippendorff_alpha

_log = logging.getLogger("metaeval")

_AUCS = {"fs_ns": "FS-NS", "fs_ps": "FS-PS", "ps_ns": "PS-NS"}
"""The measures of the classification protocol that an audit shows, and their names in its JSON file."""
_NO_GIVEAWAY = {*GOLD_CONTROLS, "constant", "random"}


def audit(config: RunConfig, sizes: Sequence[int]) -> Audit:
    """Audit the data set of a run, with the run's settings of data, chunks, evidence and intervals.

    sizes: chunk sizes in words at which whole evidence sets are counted; the run's own size and whole pages are
    counted too. Raises `UserError` for data without citations.
    """
    corpus, name, split = load_corpus(config)
    base = config.model_copy(update={"protocols": ("classification",), "pool": "own"})
    jobs = {unit: prepare(base.model_copy(update={"unit": unit}), corpus) for unit in ("chunk", "citation")}
    # Where only short pages have chunks of a known level, these chunks do not represent the data.
    known = {unit: fmean(row.level is not None for row in job.rows) for unit, job in jobs.items()}
    result_by_unit = {}
    for unit, job in jobs.items():
        if known[unit] >= 0.5:
            columns = [column for column in trivial_columns(job) if column.name not in _NO_GIVEAWAY]
            result_by_unit[unit] = _evaluated(job, columns)
    lengths = [
        len(corpus.documents[document].text.split())
        for document in {citation.document_id for citation in corpus.citations}
    ]
    evidence = _evidence(corpus.citations)
    return Audit(
        data=result_by_unit["citation"].data.model_copy(update={"name": name, "split": split}),
        chunks=str(config.chunk.chunking()),
        words=(median(lengths), max(lengths)),
        evidence=evidence,
        sizes=list(_whole_sets(corpus, config, sizes)) if evidence.citations else [],
        rules=[_rule(corpus, base, rule) for rule in get_args(Rule)] if evidence.citations else [],
        giveaways=[
            ShortcutFeature(
                *(unit, row.metric, row.metric == OVERLAP),
                {_AUCS[column.key]: row.values[column.key] for column in result.columns if column.key in _AUCS},
            )
            for unit, result in result_by_unit.items()
            for row in result.rows
        ],
        duplicates=_duplicates(corpus, jobs["chunk"]),
        votes=_votes(corpus.citations),
    )


def write_audit(report: Audit, folder: Path) -> list[Path]:
    """Write an audit as JSON, text, a page and a figure, and return the paths. The same audit gives the same bytes.

    Without matplotlib a warning is logged in place of the figure.
    """
    pictures, drawn = [], []
    if report.sizes:
        try:
            from metaeval.report.figures.bars import share_bars
            from metaeval.report.figures.drawing import image, save_figure

            shares = {row.size: (row.whole, row.touched) for row in report.sizes}
            title = f"{report.data.name}, {report.data.split}: chunks of full citations with evidence"
            figure = share_bars(shares, "words in a chunk", "hold a whole set, %", title)
            pictures.append(Picture(title, image(figure, "svg").decode("utf-8")))
            drawn = save_figure(figure, folder / "whole-sets")
        except UserError as error:
            _log.warning("No figure: %s", error)
    tables = "\n".join(text_of(grid) for grid in grids(report))
    texts = {"audit.json": as_json(report), "audit.txt": tables, "audit.html": page(report, pictures)}
    return [*write_texts({folder / name: text for name, text in texts.items()}), *drawn]


def _evaluated(job: Job, columns: Sequence[AlignedColumn], resamples: int | None = None) -> Result:
    """Evaluate columns of scores under the classification protocol. resamples: number that replaces the run's."""
    config = job.config
    if resamples is not None:
        config = config.model_copy(update={"interval": config.interval.model_copy(update={"resamples": resamples})})
    ((protocol, options),) = find_protocols(config)
    return evaluate(job.frame(protocol), columns, protocol, options, config)


def _evidence(citations: Collection[Citation]) -> EvidenceSets:
    marked = [citation for citation in citations if citation.evidence]
    smallest = [
        min(len(part.sentences) + sum(len(split_sentences(text)) for text in part.texts) for part in citation.evidence)
        for citation in marked
        if citation.level is SupportLevel.FULL
    ]
    sets = sum(len(citation.evidence) for citation in marked)
    return EvidenceSets(len(marked), sets, fmean(smallest) if smallest else None)


def _whole_sets(corpus: Corpus, config: RunConfig, sizes: Collection[int]) -> Iterator[WholeSets]:
    marked = {citation.id for citation in corpus.citations if citation.evidence and citation.level is SupportLevel.FULL}
    for size in sorted({*sizes, config.chunk.size}):
        chunked = chunk_corpus(corpus, Chunking(size, config.chunk.mode))
        table = build_pairs(chunked, config.evidence.threshold, place=config.evidence.place)
        touched = [pair for pair in table.pairs if pair.citation_id in marked and pair.held]
        whole = [pair.citation_id for pair in touched if pair.held == 1]
        yield WholeSets(f"{size}", len(touched), len(whole), len(marked), len({*whole}))
    # Whole pages were judged, so a whole page always holds a whole set.
    judged = len({pair.citation_id for pair in table.pairs if pair.citation_id in marked})
    yield WholeSets(PAGE, judged, judged, len(marked), judged)


def _rule(corpus: Corpus, config: RunConfig, rule: Rule) -> RuleLabels:
    evidence = config.evidence.model_copy(update={"rule": rule})
    job = prepare(config.model_copy(update={"unit": "chunk", "evidence": evidence}), corpus)
    result = _evaluated(job, [], resamples=0)
    perfect: dict[str, dict[str, float]] = {}
    for column in result.columns:
        for detected, value in (result.perfect.values if result.perfect else {}).get(column.key, {}).items():
            if column.key in _AUCS:
                perfect.setdefault(detected, {})[_AUCS[column.key]] = value
    left_out = sum(row.level is None for row in job.rows if row.cited)
    return RuleLabels(rule, dict(result.data.levels), left_out, perfect)


def _duplicates(corpus: Corpus, job: Job) -> Duplicates:
    statements = [(_words_of(statement.text), statement.group) for statement in corpus.statements.values()]
    chunks = [(_words_of(pair.source), pair.group) for pair in job.pairs]
    judged: dict[tuple[str, str], list[SupportLevel]] = defaultdict(list)
    for citation in corpus.citations:
        text = _words_of(corpus.statements[citation.statement_id].text)
        judged[text, _words_of(corpus.documents[citation.document_id].text)].append(citation.level)
    twice = [levels for (_, page), levels in judged.items() if page and len(levels) > 1]
    return Duplicates(
        *_in_several_groups(statements),
        *_in_several_groups(chunks),
        judged_twice=len(twice),
        conflicting=sum(len(set(levels)) > 1 for levels in twice),
    )


def _in_several_groups(texts: Sequence[tuple[str, str]]) -> tuple[int, int]:
    """Return the number of distinct texts, not empty, that occur in several groups, and of all their occurrences."""
    groups: dict[str, set[str]] = defaultdict(set)
    for text, group in texts:
        groups[text].add(group)
    several = {text for text, of in groups.items() if text and len(of) > 1}
    return len(several), sum(text in several for text, _ in texts)


def _words_of(text: str) -> str:
    return " ".join(text.lower().split())


def _votes(citations: Collection[Citation]) -> VoteAgreement | None:
    """Return the agreement of the votes in the citations' `meta`; None if no unit has two votes or more."""
    units = [unit for citation in citations for unit in _units(citation) if len(unit) > 1]
    if not units:
        return None
    ratings = np.array([*zip_longest(*units, fillvalue=np.nan)], dtype=np.float64).T
    return VoteAgreement(
        units=len(units),
        votes=sum(map(len, units)),
        unanimous=sum(len(Counter(unit)) == 1 for unit in units),
        alpha=known(krippendorff_alpha(ratings, "interval")),
    )


def _units(citation: Citation) -> Iterator[list[float]]:
    """Yield the votes on a citation, or on each of its parts; only level names and numbers are kept, as floats."""
    votes = citation.meta.get("votes")
    if not isinstance(votes, list):
        return
    for unit in votes if votes and all(isinstance(vote, list) for vote in votes) else [votes]:
        yield [value for vote in unit if (value := _vote(vote)) is not None]


def _vote(value: object) -> float | None:
    if isinstance(value, str):
        return float(LEVELS[value]) if value in LEVELS else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)

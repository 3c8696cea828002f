"""Checks of a published number under every choice that it leaves open.

With enough choices any number comes out, so the number of choices that were tried is printed too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from metaeval.analyses.claim_text import PublishedClaim, read_claim
from metaeval.cell_tables import TypedTable
from metaeval.column_roles import SCORES, mapped
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.report import result as results
from metaeval.report.data_frame import Recorded
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import Note, Record, Table, TableRow, blocks_of, plain
from metaeval.runs.prepared_run import Job, find_dataset, prepare
from metaeval.signature import signature, versions
from metaeval.stats.open_choices import GRADED, GRADES, MEAN, values_under_choices
from metaeval.user_tables import any_table, table_of

OWN = {"auc": {"labels": MEAN, "ties": "half"}, **{name: {"labels": GRADES, "ties": "half"} for name in GRADED}}
"""Labels and ties, by measure, as the classification protocol (auc) and the correlation protocol (others) take them."""


@dataclass(frozen=True)
class Variant:
    """One way to compute the claimed number, with its value.

    aggregate: rule that makes a citation's score of its chunks' ("max", "mean"), "as scored", or "" for unit chunk.
    labels: the binarisation, or the three levels as grades. ties: "half", "optimistic" or "pessimistic". subset: "all"
    or one system. missing: "left out", or "lowest" (missing scores count as the lowest). direction: "higher is more" or
    "lower is more". rows: number of rows. is_protocol: whether the choices are those of the project's protocol.
    """

    split: str
    unit: str
    chunks: str
    aggregate: str
    labels: str
    ties: str
    subset: str
    missing: str
    direction: str
    rows: int
    value: float
    is_protocol: bool


@dataclass(frozen=True, repr=False)
class CheckedClaim(Recorded):
    """All variants of a claim that were computed."""

    claim: PublishedClaim
    variants: tuple[Variant, ...]
    data: results.Data

    def __repr__(self) -> str:
        """Return the outcome in one line."""
        counts = f"{len(self.giving):,} of {len(self.variants):,} variants give the number"
        return f"<CheckedClaim: {self.claim.text!r}: {counts}>"

    @property
    def records(self) -> list[Record]:
        """Return a record of each variant: "own" is `is_protocol`, "gives" is whether it gives the claimed number."""
        records: list[Record] = []
        for variant in self.variants:
            fields = asdict(variant)
            fields["own"] = fields.pop("is_protocol")
            records.append({**fields, "gives": self.claim.given_by(variant.value)})
        return records

    @property
    def giving(self) -> tuple[Variant, ...]:
        """Return the variants that give the claimed number."""
        return tuple(variant for variant in self.variants if self.claim.given_by(variant.value))

    @property
    def cut(self) -> tuple[Variant, ...]:
        """Return the variants that give the claimed number only if further digits are cut in place of rounded."""
        return tuple(variant for variant in self.variants if self.claim.cut_from(variant.value))

    @property
    def protocol_variants(self) -> tuple[Variant, ...]:
        """The protocol's variants, one per split; empty if it has other rows than the scores, or not the measure."""
        return tuple(variant for variant in self.variants if variant.is_protocol)


def check_claim(scores: Any, text: str, config: RunConfig | None = None) -> CheckedClaim:
    """Compute a published number in every way that the scores and the data set allow.

    scores: a file or data frame with columns for the id (of a pair or a citation) and the score, or scores by id. Every
    split that shares ids with the scores is tried, and for ids of pairs every chunking with nearly the same ids, with
    every binarisation, tie policy, system, treatment of missing scores, and direction.

    Raises `UserError` for a claim that cannot be read, and scores that are of no split of the data set.
    """
    claim = read_claim(text)
    table = (
        table_of("The table of scores", [{"id": name, "score": score} for name, score in scores.items()])
        if isinstance(scores, Mapping)
        else any_table(scores, "The table of scores")
    )
    config = (config or RunConfig()).model_copy(update={"dataset": claim.dataset})
    known = _scores(table, config.columns)
    dataset, _, _ = find_dataset(claim.dataset, config)
    if dataset.kind == "ratings":
        raise UserError(
            f"Claims are checked on data sets of citations, and {claim.dataset} holds ratings: use 'metaeval evaluate'."
        )
    variants: list[Variant] = []
    data = None
    for job, unit, aggregate in _jobs(config, list(dataset.files) or [dataset.default_split], known):
        variants += _variants(claim, job, unit, aggregate, known)
        corpus = job.corpus
        data = data or results.Data(
            name=job.name,
            split="all tried",
            fingerprint=corpus.fingerprint,
            statements=len(corpus.statements),
            documents=len(corpus.documents),
            citations=len(corpus.citations),
            groups=len({statement.group for statement in corpus.statements.values()}),
            levels=corpus.level_counts(),
        )
    if data is None:
        example = next(iter(known))
        raise UserError(
            f"No id in {table.name} (for example {example!r}) is a pair or a citation of {claim.dataset}: "
            f"use the ids that are written by 'metaeval pairs pairs.jsonl -d {claim.dataset}'."
        )
    return CheckedClaim(claim, tuple(variants), data)


def _scores(table: TypedTable, column_names: Mapping[str, str]) -> dict[str, float]:
    columns = table.find(SCORES, mapped(SCORES, column_names), ["pair_id", "score"])
    known: dict[str, float] = {}
    for row in table.rows:
        pair_id, text = row.text(columns["pair_id"]), row.text(columns["score"])
        try:
            value = float(text) if text else np.nan
        except ValueError:
            raise row.wrong(columns["score"], f"is {text!r}, not a number: write a number, or leave it blank") from None
        if pair_id in known:
            raise row.wrong(columns["pair_id"], f"names {pair_id!r} a second time: keep one of the two")
        known[pair_id] = value
    if np.isnan(list(known.values())).all():
        raise UserError(f"{table.name} has no score in its column {columns['score']!r}: fill it in.")
    return known


CHUNKS = tuple(
    {"size": size, "mode": mode}
    for size, mode in product((100, 150, 200, 256), ("sentences", "whole-sentences", "words"))
)


def _jobs(config: RunConfig, splits: Sequence[str], known: Mapping[str, float]) -> Iterator[tuple[Job, str, str]]:
    """Yield (job, unit, rule) for each split and chunking with scores; the rule is the `aggregate` of a variant.

    known: the scores by id, all of pairs if the first id has a "#" (then 95 % must be shared), else of citations.
    """
    for split in splits:
        chunk = "#" in next(iter(known))
        for chunks in CHUNKS if chunk else ({},):
            settings = {**config.model_dump(), "split": split, "unit": "chunk", "dataset": config.dataset}
            job = prepare(RunConfig.model_validate({**settings, "chunk": chunks or settings["chunk"]}))
            ids = {pair.pair_id for pair in job.pairs} if chunk else {row.citation_id for row in job.pairs}
            shared = len(ids & known.keys())
            # Other chunkings share a few ids: nearly all of either side must be shared.
            if not shared or (chunk and shared < 0.95 * max(len(ids), len(known))):
                continue
            if chunk:
                yield job, "chunk", ""
                yield job, "citation", "max"
                yield job, "citation", "mean"
            else:
                yield job, "citation", "as scored"


def _variants(
    claim: PublishedClaim, job: Job, unit: str, aggregate: str, known: Mapping[str, float]
) -> Iterator[Variant]:
    entry_by_key: dict[str, tuple[int | None, str, list[float]]] = {}
    for pair in job.pairs:
        key = pair.pair_id if unit == "chunk" else pair.citation_id
        gold = pair.level if unit == "chunk" else pair.citation_level
        entry = entry_by_key.setdefault(key, (gold, job.corpus.statements[pair.statement_id].system, []))
        if aggregate != "as scored" or not entry[2]:
            entry[2].append(known.get(pair.citation_id if aggregate == "as scored" else pair.pair_id, np.nan))
    entries = [entry for entry in entry_by_key.values() if entry[0] is not None]
    level = np.array([gold for gold, _, _ in entries], dtype=np.float64)
    joined = np.nanmean if aggregate == "mean" else np.nanmax
    score = np.array([float(joined(values)) if np.isfinite(values).any() else np.nan for _, _, values in entries])
    if not np.isfinite(score).any():
        return
    system = np.array([name for _, name, _ in entries])
    names = sorted(set(system.tolist()))
    subsets = {"all": np.ones(level.size, dtype=bool)}
    subsets |= {f"system {name}": system == name for name in names} if len(names) > 1 else {}
    missing = {"left out": ~np.isnan(score)}
    if np.isnan(score).any():
        missing["lowest"] = np.ones(score.size, dtype=bool)
    lowest = np.where(np.isnan(score), np.nanmin(score), score)
    usual = RunConfig()
    chunks = str(job.table.chunking)
    for (subset, among), (lost, kept), sign in product(subsets.items(), missing.items(), (1, -1)):
        rows = among & kept
        for labels, ties, value, n in values_under_choices(claim.measure, sign * lowest[rows], level[rows]):
            choice = OWN.get(claim.measure, {})
            is_protocol = (
                (labels, ties) == (choice.get("labels"), choice.get("ties"))
                and (subset, lost, sign, unit) == ("all", "left out", 1, usual.unit)
                and job.config.chunk == usual.chunk
            )
            direction = "higher is more" if sign > 0 else "lower is more"
            yield Variant(
                job.split, unit, chunks, aggregate, labels, ties, subset, lost, direction, n, value, is_protocol
            )


def claim_sheet(checked: CheckedClaim) -> Table:
    """Return a table of the protocol's variants and those that give the number, rounded or cut; its records are all."""
    giving, protocol_variants = checked.giving, checked.protocol_variants
    claim = checked.claim
    fields = {"claim": claim.text, "data": f"{checked.data.name}@{checked.data.fingerprint[:12]}"}
    shown = _without_twins(giving)
    folded = f"{len(giving) - len(shown):,} that differ from a line above in ties only, not in the value"
    titles = {"the protocol's": protocol_variants, "give the claimed number": shown}
    titles |= {"give it where further digits are cut, not rounded": _without_twins(checked.cut)}
    rows = [_row(title, variant) for title, variants in titles.items() for variant in variants]
    notes = [Note("not shown", folded)] if len(shown) < len(giving) else []
    values = sha256_json([round(variant.value, 12) for variant in checked.variants])[:12]
    return Table(
        name="claim",
        data=checked.data,
        settings={"unit": "any", "claim": claim.text},
        records=checked.records,
        key=("claim", checked.data.name, "", ""),
        title=f"Claim: {plain(claim.text)}",
        subtitle=plain(checked.data.name),
        headings=("chunks", "value", "rows", "labels and other choices"),
        blocks=blocks_of(rows) if rows else (),
        footer=(*notes, Note("tried", claim_sentence(checked))),
        signatures=(signature({**fields, "scores": values, **versions("metaeval", "numpy", "scipy")}),),
        stub="split, unit",
    ).noting(checked.data.demo)


def _without_twins(variants: Sequence[Variant]) -> list[Variant]:
    """Return the variants without those that equal, but for their ties, one with ties "half"; the latter stays."""
    half = {replace(variant, is_protocol=False) for variant in variants if variant.ties == "half"}
    return [
        variant
        for variant in variants
        if variant.ties == "half" or replace(variant, ties="half", is_protocol=False) not in half
    ]


def _row(title: str, variant: Variant) -> TableRow:
    where = ", ".join(part for part in (variant.split, variant.unit, variant.aggregate) if part)
    missing = "missing scores lowest" if variant.missing == "lowest" else variant.missing
    choices = [f"ties {variant.ties}", variant.subset, missing, variant.direction]
    usual = ("ties half", "all", "left out", "higher is more")
    words = "; ".join([variant.labels, *(choice for choice in choices if choice not in usual)])
    return title, where, [plain(variant.chunks), cell(variant.value, column=THREE), f"{variant.rows:,}", plain(words)]


def claim_sentence(checked: CheckedClaim) -> str:
    """Return, as text, how many variants were tried, how many give the number, and what the protocol's own give."""
    giving, protocol_variants = checked.giving, checked.protocol_variants
    digits = max(checked.claim.digits + 1, 4)  # enough digits to see a difference from the claim
    sentence = f"{len(checked.variants):,} variants were tried, and {len(giving):,} give the claimed number"
    if checked.cut:
        sentence += f" ({len(checked.cut):,} more if further digits are cut, not rounded)"
    if not protocol_variants:
        return f"{sentence}; the scores are not of the rows that the protocol judges, or it has no such measure."
    values = ", ".join(f"{variant.value:.{digits}f} ({variant.split})" for variant in protocol_variants)
    verdict = "it is one of them" if any(variant in giving for variant in protocol_variants) else "it is none of them"
    return f"{sentence}; the protocol's own gives {values}: {verdict}. With enough variants any number matches."

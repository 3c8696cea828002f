"""A published number, tried under every choice that it leaves open: which of them give it, and is one the protocol's?

With enough choices any number comes out. What is printed says how many were tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.data_tables import SCORE_ROLES, TypedTable
from metaeval.errors import UserError, unknown
from metaeval.files import sha256_json
from metaeval.own_tables import any_table, table_of
from metaeval.report import result as results
from metaeval.report.cells import THREE, cell
from metaeval.report.notebook import Recorded
from metaeval.report.table import Note, Record, Table, TableRow, blocks_of, plain
from metaeval.runs.prepared_run import Job, find_dataset, prepare
from metaeval.signature import signature, versions
from metaeval.stats.choices import BINARY, GRADED, GRADES, MEAN, values_under_choices

_CLAIM = re.compile(r"\s*(?P<number>-?\d*\.?\d+)\s*(?P<percent>%?)\s+(?P<measure>.+?)\s+on\s+(?P<data>.+?)\s*", re.I)

NAMES: Mapping[str, str] = {
    **dict.fromkeys(("auc", "auroc", "rocauc", "rocaucscore", "aucroc"), "auc"),
    **dict.fromkeys(("ap", "auprc", "averageprecision", "prauc", "aucpr"), "average precision"),
    **dict.fromkeys(("acc", "accuracy"), "accuracy"),
    **dict.fromkeys(("bacc", "balancedaccuracy", "balancedacc"), "balanced accuracy"),
    **dict.fromkeys(("f1", "f1score"), "f1"),
    **dict.fromkeys(("pearson", "pearsonr", "r", "pearsoncorrelation"), "pearson"),
    **dict.fromkeys(("spearman", "spearmanr", "rho", "spearmanrho", "spearmancorrelation"), "spearman"),
    **dict.fromkeys(("kendall", "tau", "kendalltau", "taub"), "kendall"),
}

OWN = {"auc": {"labels": MEAN, "ties": "half"}, **{name: {"labels": GRADES, "ties": "half"} for name in GRADED}}
"""What the protocols choose: the classification protocol's headline, and the correlation protocol's levels."""


@dataclass(frozen=True)
class Claim:
    """A published number as it was written: its value, the digits behind the point, its measure and data set."""

    text: str
    value: float
    digits: int
    measure: str
    dataset: str

    def given_by(self, value: float) -> bool:
        """Whether a value is this number when it is written with as many digits."""
        return value == value and abs(value - self.value) <= 0.5 * 10.0**-self.digits + 1e-9


@dataclass(frozen=True)
class Variant:
    """One way to compute the number. own: the choices are those of the project's protocol."""

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
    own: bool


@dataclass(frozen=True, repr=False)
class Tried(Recorded):
    """All variants, which give the number, and which are the protocol's own (none: the scores are not of its rows)."""

    claim: Claim
    variants: tuple[Variant, ...]
    data: results.Data

    def __repr__(self) -> str:
        """What was found, in one line."""
        return f"<Tried: {self.claim.text!r}: {len(self.giving):,} of {len(self.variants):,} variants give the number>"

    @property
    def records(self) -> list[Record]:
        """Every variant, and whether it gives the number."""
        return [{**asdict(one), "gives": self.claim.given_by(one.value)} for one in self.variants]

    @property
    def giving(self) -> tuple[Variant, ...]:
        """The variants that give the number."""
        return tuple(one for one in self.variants if self.claim.given_by(one.value))

    @property
    def own(self) -> tuple[Variant, ...]:
        """The protocol's, one for each split that the scores are of."""
        return tuple(one for one in self.variants if one.own)


def read_claim(text: str) -> Claim:
    """A claim such as "0.71 AUC on WiCE"; `UserError` says what is not known of it."""
    match = _CLAIM.fullmatch(text)
    if match is None:
        raise UserError(f'The claim is {text!r}; allowed: NUMBER MEASURE on DATA SET, for example "0.71 AUC on WiCE".')
    word = re.sub(r"[\W_]+", "", match["measure"].casefold())
    if word not in NAMES:
        raise unknown("measure of a claim", match["measure"].casefold(), [*BINARY, *GRADED])
    named = {re.sub(r"[\W_]+", "", name): name for name in registry.names("dataset")}
    data = re.sub(r"[\W_]+", "", match["data"].casefold())
    if data not in named:
        raise unknown("data set", match["data"].casefold(), named.values(), registry.LIST_COMMAND["dataset"])
    number = Decimal(match["number"])
    digits = max(0, -int(number.as_tuple().exponent))
    if match["percent"] or abs(number) > 1:
        number, digits = number / 100, digits + 2
    if abs(number) > 1:
        raise UserError(f"The claim is {text!r}: a {NAMES[word]} lies between -1 and 1, or -100 and 100 %.")
    return Claim(text, float(number), digits, NAMES[word], named[data])


def check_claim(scores: Any, text: str, config: RunConfig | None = None) -> Tried:
    """Compute a published number in every way that scores, one a pair or citation, and the data set allow.

    scores: a file or data frame with columns for the id and the score, or scores by id. Tried are every split and unit
    and chunking whose ids the scores have, binarisation, tie policy, system, treatment of missing scores, direction.

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
        raise UserError(f"{claim.dataset} holds ratings, and claims are checked on citations: 'metaeval evaluate' it.")
    variants: list[Variant] = []
    data = None
    for job, unit, aggregate in _jobs(config, list(dataset.files) or [dataset.default_split], known):
        found = list(_variants(claim, job, unit, aggregate, known))
        corpus = job.corpus
        data = data or results.Data(
            name=job.name,
            split="all tried",
            fingerprint=corpus.fingerprint,
            statements=len(corpus.statements),
            documents=len(corpus.documents),
            citations=len(corpus.citations),
            groups=len({one.group for one in corpus.statements.values()}),
            levels=corpus.level_counts(),
        )
        variants += found
    if data is None:
        example = next(iter(known))
        raise UserError(
            f"{table.name} holds no pair or citation of {claim.dataset} (an id in it: {example!r}): write the ids "
            f"with 'metaeval pairs pairs.jsonl -d {claim.dataset}'."
        )
    return Tried(claim, tuple(variants), data)


def _scores(table: TypedTable, given: Mapping[str, str]) -> dict[str, float]:
    columns = table.find(SCORE_ROLES, given, ["pair_id", "score"])
    known: dict[str, float] = {}
    for row in table.rows:
        own, text = row.text(columns["pair_id"]), row.text(columns["score"])
        try:
            value = float(text) if text else np.nan
        except ValueError:
            raise row.wrong(
                columns["score"], f"is {text!r}, and no number: write a number, or leave it blank"
            ) from None
        if own in known:
            raise row.wrong(columns["pair_id"], f"names {own!r} a second time: keep one of the two")
        known[own] = value
    if np.isnan(list(known.values())).all():
        raise UserError(f"{table.name} has no score in its column {columns['score']!r}: fill it in.")
    return known


CHUNKS = tuple(
    {"size": size, "mode": mode}
    for size, mode in product((100, 150, 200, 256), ("sentences", "whole-sentences", "words"))
)


def _jobs(config: RunConfig, splits: Sequence[str], known: Mapping[str, float]) -> Iterator[tuple[Job, str, str]]:
    """The jobs whose rows the scores are of, with the unit and how chunks make a citation's score."""
    for split in splits:
        chunk = "#" in next(iter(known))
        for chunks in CHUNKS if chunk else ({},):
            given = {**config.model_dump(), "split": split, "unit": "chunk", "dataset": config.dataset}
            job = prepare(RunConfig.model_validate({**given, "chunk": chunks or given["chunk"]}))
            ids = {pair.pair_id for pair in job.pairs} if chunk else {row.citation_id for row in job.pairs}
            shared = len(ids & known.keys())
            # Ids of other chunks than these are no scores of these: nearly all of either must be there.
            if not shared or (chunk and shared < 0.95 * max(len(ids), len(known))):
                continue
            if chunk:
                yield job, "chunk", ""
                yield job, "citation", "max"
                yield job, "citation", "mean"
            else:
                yield job, "citation", "as scored"


def _variants(claim: Claim, job: Job, unit: str, aggregate: str, known: Mapping[str, float]) -> Iterator[Variant]:
    own: dict[str, tuple[int | None, str, list[float]]] = {}
    for pair in job.pairs:
        key = pair.pair_id if unit == "chunk" else pair.citation_id
        gold = pair.level if unit == "chunk" else pair.citation_level
        entry = own.setdefault(key, (gold, job.corpus.statements[pair.statement_id].system, []))
        if aggregate != "as scored" or not entry[2]:
            entry[2].append(known.get(pair.citation_id if aggregate == "as scored" else pair.pair_id, np.nan))
    entries = [(float(gold), of, values) for gold, of, values in own.values() if gold is not None]
    level = np.array([one[0] for one in entries], dtype=np.float64)
    joined = np.nanmean if aggregate == "mean" else np.nanmax
    score = np.array([float(joined(one[2])) if np.isfinite(one[2]).any() else np.nan for one in entries])
    system = np.array([one[1] for one in entries])
    names = sorted(set(system.tolist()))
    subsets = {"all": np.ones(level.size, dtype=bool)}
    subsets |= {f"system {name}": system == name for name in names} if len(names) > 1 else {}
    if not np.isfinite(score).any():
        return
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
            is_own = (
                (labels, ties) == (choice.get("labels"), choice.get("ties"))
                and (subset, lost, sign, unit) == ("all", "left out", 1, usual.unit)
                and job.config.chunk == usual.chunk
            )
            direction = "higher is more" if sign > 0 else "lower is more"
            yield Variant(job.split, unit, chunks, aggregate, labels, ties, subset, lost, direction, n, value, is_own)


def claim_sheet(tried: Tried) -> Table:
    """The protocol's own value, and the variants that give the number; all variants as records."""
    giving, own = tried.giving, tried.own
    claim = tried.claim
    made = {"claim": claim.text, "data": f"{tried.data.name}@{tried.data.fingerprint[:12]}"}
    shown = _without_twins(giving)
    folded = f"{len(giving) - len(shown):,} that differ from a line above in ties only, not in the value"
    titles = {"the protocol's": own, f"give {claim.text}": shown}
    rows = [_row(title, one) for title, variants in titles.items() for one in variants]
    notes = [Note("not shown", folded)] if len(shown) < len(giving) else []
    values = sha256_json([round(one.value, 12) for one in tried.variants])[:12]
    return Table(
        name="claim",
        data=tried.data,
        settings={"unit": "any", "claim": claim.text},
        records=tried.records,
        key=("claim", tried.data.name, "", ""),
        title=f"Claim: {plain(claim.text)}",
        subtitle=plain(tried.data.name),
        headings=("chunks", "value", "rows", "labels and other choices"),
        blocks=blocks_of(rows) if rows else (),
        footer=(*notes, Note("tried", claim_sentence(tried))),
        signatures=(signature({**made, "scores": values, **versions("metaeval", "numpy", "scipy")}),),
        stub="split, unit",
    ).noting(tried.data.demo)


def _without_twins(variants: Sequence[Variant]) -> list[Variant]:
    """The variants without those that differ from another in ties only, and not in the value."""
    half = {replace(one, own=False) for one in variants if one.ties == "half"}
    return [one for one in variants if one.ties == "half" or replace(one, ties="half", own=False) not in half]


def _row(title: str, one: Variant) -> TableRow:
    where = ", ".join(part for part in (one.split, one.unit, one.aggregate) if part)
    unusual = {"half": "", "all": "", "left out": "", "higher is more": "", "lowest": "missing scores lowest"}
    others = [one.ties if one.ties == "half" else f"ties {one.ties}", one.subset, one.missing, one.direction]
    words = "; ".join([one.labels, *(unusual.get(word, word) for word in others if unusual.get(word, word))])
    return title, where, [plain(one.chunks), cell(one.value, column=THREE), f"{one.rows:,}", plain(words)]


def claim_sentence(tried: Tried) -> str:
    """What came out, in one sentence."""
    giving, own = tried.giving, tried.own
    digits = max(tried.claim.digits + 1, 4)  # a value that another rounding would give is told from the claim
    said = f"{len(tried.variants):,} variants were tried, and {len(giving):,} give {tried.claim.text}"
    if not own:
        return f"{said}; the scores are not of the rows that the protocol judges, or it has no such measure."
    values = ", ".join(f"{one.value:.{digits}f} ({one.split})" for one in own)
    verdict = "it is one of them" if any(one in giving for one in own) else "it is none of them"
    return f"{said}; the protocol's own gives {values}: {verdict}. With enough variants any number matches."

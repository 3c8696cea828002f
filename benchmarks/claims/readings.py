"""Readings of claims by readers who have not seen the code, and what they say about the claims of today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.claims.drawing import HERE, committed, read_table
from benchmarks.claims.sheet import DrawnClaim
from metaeval.errors import UserError
from metaeval.stats.agreement import cohen_kappa, krippendorff_alpha

VERDICTS = ("clean", "not clean")
REASONS = ("fallback", "other", "lost", "fragment", "alone", "antecedent", "spelt")
GOAL_CLEAN, GOAL_FALLBACKS = 0.6, 0.25


class Reading(NamedTuple):
    """A reader's verdict on a claim; sha256: of the claim that was read. reason: a code of rules.md, or empty."""

    reader: str
    claim: str
    sha256: str
    verdict: str
    reason: str


def read_readings() -> list[Reading]:
    """Return the readings that are committed."""
    return [Reading(**row) for row in read_table(HERE / "readings.csv")]


def reading_of(reader: str, path: Path, claims: Sequence[DrawnClaim]) -> list[Reading]:
    """Return a reader's verdicts from a CSV file with id, verdict and reason, in the order of the claims.

    Raises `UserError` for a claim without exactly one verdict, and for a verdict or reason that the rules do not have.
    """
    rows = read_table(path)
    numbers = Counter(row["id"] for row in rows)
    if numbers != Counter(claim.id for claim in claims):
        raise UserError(f"{path} must have one line for each of the {len(claims)} claims; it has {len(rows)} lines.")
    by_id = {row["id"]: row for row in rows}
    readings = [Reading(reader, c.id, c.sha256, by_id[c.id]["verdict"], by_id[c.id]["reason"]) for c in claims]
    for each in readings:
        allowed = ("",) if each.verdict == "clean" else REASONS
        if each.verdict not in VERDICTS or each.reason not in allowed:
            raise UserError(f"{path}: claim {each.claim} has {each.verdict!r} with reason {each.reason!r}.")
    return readings


def verdicts(claims: Sequence[DrawnClaim], readings: Sequence[Reading]) -> dict[str, list[bool | None]]:
    """Return whether each reader found each claim clean; None: not read, or changed since. A fallback never is."""
    by_claim = {(each.reader, each.claim, each.sha256): each.verdict == "clean" for each in readings}
    readers = dict.fromkeys(each.reader for each in readings)
    known = {reader: [by_claim.get((reader, claim.id, claim.sha256)) for claim in claims] for reader in readers}
    return {
        reader: [
            is_clean and not claim.fallback if is_clean is not None else None
            for claim, is_clean in zip(claims, clean, strict=True)
        ]
        for reader, clean in known.items()
    }


def report(claims: Sequence[DrawnClaim], readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines of the report."""
    drawn = len(committed())
    there = len({claim.pointer for claim in claims})
    by_reader = verdicts(claims, readings)
    fallbacks = sum(claim.fallback for claim in claims)
    yield f"{len(claims)} claims of {there} sentences; {drawn - there} of the {drawn} sentences drawn are not there."
    yield _goal("fallbacks", fallbacks, len(claims), fallbacks <= GOAL_FALLBACKS * len(claims), "at most 25 %")
    cut = [claim.fallback for claim in claims if claim.pointer.kind == "several"]
    yield f"  of kind several, whose sentences are cut: {_share(sum(cut), len(cut))}"
    for reader, clean in by_reader.items():
        yield from _shares(f"reader {reader}", claims, clean)
        reasons = Counter(each.reason for each in readings if each.reader == reader and each.reason)
        yield "  reasons: " + ", ".join(f"{name} {number}" for name, number in reasons.most_common())
    if len(by_reader) > 1:
        pairs = list(zip(*by_reader.values(), strict=True))
        yield from _shares("all readers", claims, [None if None in pair else all(pair) for pair in pairs])
        yield from _agreement(pairs)
        yield _same_reasons(readings, list(by_reader)[:2])


def _shares(name: str, claims: Sequence[DrawnClaim], clean: Sequence[bool | None]) -> Iterator[str]:
    read = [(claim, verdict) for claim, verdict in zip(claims, clean, strict=True) if verdict is not None]
    number = sum(verdict for _, verdict in read)
    yield _goal(f"{name}: claims clean", number, len(read), number >= GOAL_CLEAN * len(read), "at least 60 %")
    by_sentence: dict[str, list[bool | None]] = {}
    for claim, verdict in zip(claims, clean, strict=True):
        by_sentence.setdefault(f"{claim.pointer.kind} {claim.id.split('.')[0]}", []).append(verdict)
    whole = {key: all(values) for key, values in by_sentence.items() if None not in values}
    yield f"  sentences clean: {_share(sum(whole.values()), len(whole))}"
    for kind in ("several", "inside", "end"):
        of_kind = [verdict for claim, verdict in read if claim.pointer.kind == kind]
        yield f"  claims of kind {kind}: {_share(sum(of_kind), len(of_kind))}"
    yield f"  unread, or changed since: {len(claims) - len(read)}"


def _agreement(pairs: Sequence[tuple[bool | None, ...]]) -> Iterator[str]:
    both = [pair[:2] for pair in pairs if None not in pair[:2]]
    counts = np.zeros((2, 2))
    np.add.at(counts, tuple(np.array(both, dtype=np.int64).reshape(-1, 2).T), 1)
    ratings = np.array([[np.nan if each is None else float(each) for each in pair] for pair in pairs])
    yield f"agreement of the first two readers: {_share(int(np.trace(counts)), len(both))}"
    alpha = krippendorff_alpha(ratings, "nominal")
    yield f"  Cohen's kappa {float(cohen_kappa(counts)):.3f}, Krippendorff's alpha {alpha:.3f}"


def _same_reasons(readings: Sequence[Reading], readers: Sequence[str]) -> str:
    """Return how often two readers gave the same reason: readers who judge apart hardly always do."""
    first, second = ({(r.claim, r.sha256): r.reason for r in readings if r.reader == name} for name in readers)
    rejected = [key for key, reason in first.items() if reason and second.get(key)]
    same = sum(first[key] == second[key] for key in rejected)
    return f"  same reason: {_share(same, len(rejected))} of the claims that both reject"


def _goal(name: str, number: int, whole: int, met: bool, goal: str) -> str:
    return f"{name}: {_share(number, whole)} (wanted: {goal}; {'reached' if met else 'missed'})"


def _share(number: int, whole: int) -> str:
    return f"{number} of {whole}" + (f", {100 * number / whole:.1f} %" if whole else "")

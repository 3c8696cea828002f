"""How a run's numbers were made, in the words of its settings, its footers and its signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version

from metaeval.config import IntervalConfig
from metaeval.experiment.sheet import Scalar
from metaeval.experiment.verdicts import Backend
from metaeval.report.grid import Note
from metaeval.report.number_format import count, one_line, plain, share
from metaeval.report.result import Data
from metaeval.signature import signature


def resampled(interval: IntervalConfig) -> dict[str, Scalar]:
    """The resampling as settings of a sheet."""
    return {"resamples": interval.resamples, "seed": interval.seed, "level": interval.level}


def uncertainty(interval: IntervalConfig, groups: int | None = None, more: str = "") -> Note:
    """The resampling as a note; groups: their number, None where it is not one for all numbers."""
    drawn = f"{100 * interval.level:g} % percentile intervals, {count(interval.resamples, 'resample')} of "
    drawn += "groups" if groups is None else count(groups, "group")
    return Note("uncertainty", f"{drawn}, seed {interval.seed}{more}")


def signed(data: Data, fields: Mapping[str, object], interval: IntervalConfig) -> str:
    """The signature: the answers, what the numbers depend on beside them, and how intervals were made."""
    made = {
        "answers": answers_at(data),
        **fields,
        "interval": f"cluster-percentile-{interval.level}",
        "by": "group",
        "B": interval.resamples,
        "seed": interval.seed,
        **versions(),
    }
    return one_line(signature(made))


def answers_at(data: Data) -> str:
    """What was judged, pinned: NAME@FINGERPRINT."""
    return f"{data.name}@{data.fingerprint[:12]}"


def versions() -> dict[str, str]:
    """Of the packages that numbers depend on."""
    return {package: version(package) for package in ("metaeval", "numpy")}


def truncation(backends: Iterable[Backend]) -> Note:
    """What metrics did not read, as a note; it has no items where they read everything."""
    said = [
        (
            plain(one.name),
            f"{share(one.ledger.cut_pairs, one.ledger.pairs)} of pairs are longer than the metric reads; "
            f"{share(one.ledger.cut_tokens, one.ledger.tokens)} of tokens cut",
        )
        for one in backends
        if one.ledger.cut_pairs
    ]
    return Note("truncation", "", tuple(said))

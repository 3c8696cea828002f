"""Rewriting as sheets: how many verdicts stayed the same, and recall and precision before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.measures import (
    Interval,
    Share,
    bounds,
    citation_shares,
    group_codes,
    interval_of,
    macro,
    recalls,
    replicates,
)
from metaeval.citation.table import Line, claims_of, counts
from metaeval.experiment.citing.agreement import agreement
from metaeval.experiment.citing.claims import F1, PRECISION, RECALL
from metaeval.experiment.citing.provenance import fingerprint, resampled, signed, uncertainty
from metaeval.experiment.citing.quantities import Quantity, f1_of, macro_of
from metaeval.experiment.citing.rewriting.run import Rejudged
from metaeval.experiment.sheet import Record, Scalar, Sheet
from metaeval.report.citation.layout import Frame, interval_cell, lines_grid
from metaeval.report.grid import Cell, Note, count, numeral, plain, share
from metaeval.report.result import Column, Data
from metaeval.stats.resampling import bootstrap

Ints = NDArray[np.int64]

_PERCENT = Column(key="", label="", scale=100, digits=1)
_TWO = Column(key="", label="", digits=2)

_Table = tuple[list[tuple[str, list[tuple[str, list[Cell]]]]], list[Record]]
"""Rows in titled blocks, and the records of the same."""

_Measured = tuple[str, Interval, int]
"""A measure, its value, and the number of claims that it is of."""


def rewriting_sheets(rejudged: Rejudged) -> list[Sheet]:
    """What became of the claims and of the verdicts on them; then recall, precision and F1 before and after."""
    prepared, backend = rejudged.prepared, rejudged.backend
    answers, interval, counted = prepared.answers, prepared.config.interval, counts(rejudged.before)
    codes, n_groups = group_codes(answers)
    data = Data(
        name=prepared.asked.name,
        split="aliice",
        fingerprint=fingerprint(answers),
        statements=counted["claims"],
        documents=sum(len(answer.passages) for answer in answers),
        citations=counted["marks"],
        groups=n_groups,
        levels={},
    )
    settings: Record = {**{key: str(value) for key, value in prepared.fields.items()}, **resampled(interval)}
    subtitle = f"{plain(data.name)}, ALiiCE, profile {plain(prepared.profile.signature)}"
    notes, line = _notes(rejudged, data), signed(data, {**prepared.fields, **backend.fields}, interval)
    sheets = []
    for name, title, headings, (blocks, records) in (
        ("rewriting", "Claims written again", ("value", "of claims"), _claims(rejudged, codes, n_groups)),
        ("rewriting-scores", "Before and after", ("before", "after", "change"), _scores(rejudged, codes, n_groups)),
    ):
        frame = Frame((name, data.name), title, subtitle, notes, (line,))
        sheets.append(Sheet(name, data, settings, records, lines_grid(frame, "measure", headings, blocks)))
    return sheets


def _claims(rejudged: Rejudged, codes: Ints, n_groups: int) -> _Table:
    done = [one for one in rejudged.rewritings if one.text is not None]
    states, sent = Counter(one.state for one in rejudged.rewritings), len(rejudged.rewritings)
    wordings: list[_Measured] = [
        ("rewritten", _share(states["rewritten"], sent), sent),
        ("unparsed", _share(states["unparsed"], sent), sent),
        ("no reply", _share(states["failed"] + states["too long"], sent), sent),
        ("left as it was", _share(sum(one.text == one.fragment.claim for one in done), len(done)), len(done)),
        ("with new words", _share(sum(bool(one.new_words) for one in done), len(done)), len(done)),
    ]
    labels = rejudged.labels(codes, n_groups)
    (agreed,) = agreement(labels, rejudged.prepared.config.interval)
    before, after = labels.human, labels.raters["after"]
    both = int(before.size)
    verdicts: list[_Measured] = [
        ("same verdict", agreed.accuracy, both),
        ("kappa", agreed.kappa, both),
        ("supported before", Interval(agreed.supported[0]), both),
        ("supported after", Interval(agreed.supported[1]), both),
        ("support lost", _share(int((before > after).sum()), both), both),
        ("support gained", _share(int((before < after).sum()), both), both),
    ]
    blocks = {"claims that were sent": wordings, "verdicts on both wordings": verdicts}
    return (
        [(title, [_line(one) for one in measured]) for title, measured in blocks.items()],
        [
            {"measure": name, "value": value.value, "low": value.low, "high": value.high, "claims": claims}
            for measured in blocks.values()
            for name, value, claims in measured
        ],
    )


def _line(measured: _Measured) -> tuple[str, list[Cell]]:
    name, value, claims = measured
    return name, [_cell(value, _TWO if name == "kappa" else _PERCENT, name == "kappa"), Cell(f"{claims:,}")]


def _scores(rejudged: Rejudged, codes: Ints, n_groups: int) -> _Table:
    interval = rejudged.prepared.config.interval
    # One group alone is drawn again and again: no interval.
    draws = bootstrap(n_groups, interval.resamples if n_groups > 1 else 0, interval.seed)
    rows = np.arange(codes.size)
    lines: list[tuple[str, list[Cell]]] = []
    records: list[Record] = []
    for one, other in zip(_quantities(rejudged, rejudged.before), _quantities(rejudged, rejudged.after), strict=True):
        before, after = (replicates(quantity, rows, codes, draws) for quantity in (one, other))
        # The same draws on both sides: the interval of the change is that of a pair.
        values = {"before": before, "after": after, "change": after - before}
        found = {name: interval_of(each, interval.level) for name, each in values.items()}
        lines.append((one.column.label, [_cell(each, one.column, name == "change") for name, each in found.items()]))
        record: dict[str, Scalar] = {"measure": one.column.key}
        for name, each in found.items():
            record |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
        records.append(record)
    return [("", lines)], records


def _quantities(rejudged: Rejudged, lines: Sequence[Line]) -> tuple[Quantity, Quantity, Quantity]:
    """Recall, precision and F1 over the claims that can be compared."""
    answers, kept = rejudged.prepared.answers, _kept(rejudged, lines)
    shares = citation_shares(answers, kept, by_group=rejudged.prepared.profile.precision == "groups")
    recall, precision = (macro_of(column, own) for column, own in zip((RECALL, PRECISION), shares, strict=True))
    return recall, precision, f1_of(F1, recall, precision)


def _kept(rejudged: Rejudged, lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if (line.answer, line.claim_number) not in rejudged.left_out]


def _bounds(rejudged: Rejudged) -> str:
    """What the shares could be, were all that is missing in them against the new wordings, or for them."""
    answers, left = rejudged.prepared.answers, Counter(answer for answer, _ in rejudged.left_out)
    verdicts = [
        rejudged.verdicts(one)
        for one in rejudged.rewritings
        if None not in rejudged.verdicts(one) or rejudged.prepared.key(one.fragment) in rejudged.left_out
    ]
    open_ = sum(None in each for each in verdicts)
    same = [Share(sum(old == new for old, new in verdicts if new is not None), len(verdicts) - open_, open_)]
    recall = [
        Share(own.hits, own.total, left[answer.id])
        for answer, own in zip(answers, recalls(answers, _kept(rejudged, rejudged.after)), strict=True)
    ]
    said = []
    for name, shares in (("same verdict", same), ("recall after", recall)):
        ends = [numeral(end, _PERCENT) for end in bounds(shares, macro)]
        said.append(f"{name} is from {' to '.join(ends)}")
    return ", ".join(said)


def _notes(rejudged: Rejudged, data: Data) -> tuple[Note, ...]:
    prepared, backend, out = rejudged.prepared, rejudged.backend, len(rejudged.left_out)
    ledger = backend.ledger
    said = f"{count(len(prepared.answers), 'answer')}, {count(data.groups, 'group')}; "
    said += f"{count(len(claims_of(rejudged.before)), 'claim')}, {len(prepared.cut):,} of them sent; "
    left = f"{count(out, 'claim')} without a new wording or without a verdict, in neither recall nor precision; "
    notes = (
        Note("data", said + count(data.citations, "citation mark")),
        Note("settings", ", ".join(f"{key} {plain(str(value))}" for key, value in prepared.fields.items())),
        Note(
            "verdicts", f"{plain(backend.name)}: supported from {prepared.cutoff.value:g} on ({prepared.cutoff.source})"
        ),
        Note("truncation", f"{share(ledger.cut_pairs, ledger.pairs)} of pairs cut" if ledger.cut_pairs else ""),
        Note("left out", left + f"with them, {_bounds(rejudged)}" if out else ""),
        uncertainty(prepared.config.interval, data.groups),
    )
    return tuple(note for note in notes if note.text)


def _share(part: int, whole: int) -> Interval:
    return Interval(part / whole if whole else None)


def _cell(value: Interval, column: Column, signed: bool = False) -> Cell:
    return interval_cell((value.value, value.low, value.high), column, signed)

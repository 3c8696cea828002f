"""Texts in groups by a field of their records: SCiFi's Table 4 (topics) and Figure 2 (page views)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from metaeval.citation.data_model import Answer
from metaeval.citation.pipelines.provenance import Provenance, TableLines
from metaeval.citation.scifi.text_statistics import citation_counts, shares_of
from metaeval.core.errors import UserError, count, did_you_mean, shown
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.report.result import Column
from metaeval.report.table import Note, Table, format_value, plain

TOP = 10  # number of values of a field of words that have a line, the most frequent first (Table 4)
BINS = 20  # number of bins of a field of numbers, which have equally many texts, or one more or less (Figure 2)

FEATURING = "featuring"
_COLUMNS = (
    Column(key="samples", label="# Samples", digits=0),
    Column(key="share", label="% of samples", scale=100, digits=1),
    Column(key=FEATURING, label="with inside %", scale=100, digits=1),
    Column(key="inside", label="inside %", scale=100, digits=1),
    Column(key="density", label="Density", digits=2),
)
_READING = (
    "% of samples: of those with the field; a text with several values counts in each. with inside: texts with a "
    "citation that a word of its sentence follows; inside: citations of which that holds; density: citations per "
    "sentence with a citation"
)


def group_table(answers: Sequence[Answer], name: str, splitter: SentenceSplitter, around: Provenance) -> Table:
    """Return a table of statistics of the texts by the field `name` of their records' `reference`.

    A field of numbers is cut into bins of equal size, in ascending order; of words, or lists of words, the most
    frequent values have a line each. Texts without the field are left out and counted. Raises `UserError` where none
    has it.
    """
    values: dict[int, list[str | float]] = {}
    for place, answer in enumerate(answers):
        held = answer.reference.get(name)
        listed = held if isinstance(held, (list, tuple)) else [held]
        kept = [each for each in listed if _is_number(each) or (isinstance(each, str) and each.strip())]
        values |= {place: list(dict.fromkeys(kept))} if kept else {}
    known = list(values)
    if not known:
        names = sorted({field for answer in answers for field in answer.reference})
        fields = ", ".join(shown(field, 30) for field in names) or "no field"
        raise UserError(f"No text has {shown(name)} in its 'reference'.{did_you_mean(name, names)} Fields: {fields}.")
    counted = [citation_counts([answer], splitter) for answer in answers]
    numbers = {place: float(each) for place in known for each in values[place] if _is_number(each)}
    groups: dict[str, list[int]] = {}
    if numeric := len(numbers) == len(known):
        ordered = sorted(numbers, key=lambda place: numbers[place])
        n, bins = len(ordered), min(BINS, len(ordered))
        for number in range(bins):
            places = ordered[n * number // bins : n * (number + 1) // bins]
            groups[f"{number + 1:02}: {numbers[places[0]]:,.6g} to {numbers[places[-1]]:,.6g}"] = places
    else:
        # The first of equally frequent values wins.
        for place, listed in values.items():
            for each in listed:
                groups.setdefault(str(each), []).append(place)
        groups = dict(sorted(groups.items(), key=lambda of: -len(of[1]))[:TOP])
    table = TableLines()
    for label, places in groups.items():
        texts = [counted[place] for place in places]
        of_group: Mapping[str, float | None] = {
            "samples": len(texts),
            "share": len(texts) / len(known),
            FEATURING: sum(text["inside"] > 0 for text in texts) / len(texts),
            **shares_of(sum(texts, Counter[str]())),
        }
        cells = [format_value(of_group[column.key], column) for column in _COLUMNS]
        record = {"system": label, "backend": name, "low": None, "high": None}
        table.add("", plain(label), cells, *({**record, "measure": key, "value": v} for key, v in of_group.items()))
    others = 0 if numeric else len({each for place in known for each in values[place]}) - len(groups)
    left = [f"{count(len(answers) - len(known), 'text')} without it left out"] if len(known) < len(answers) else []
    left += [f"{count(others, 'further value')} without a line"] if others else []
    notes = [Note("reading", _READING), *([Note("left out", "; ".join(left))] if left else [])]
    headings = (plain(name), *(column.label for column in _COLUMNS))
    return around.lines(f"by-{name}", f"Texts by {plain(name)}", headings, table, notes)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value

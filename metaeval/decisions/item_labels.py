"""Labels of some items by people, the design of their sample, and a check that it can be a random sample."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal
from unicodedata import category

import numpy as np

from metaeval.core.cells import is_missing, number_in
from metaeval.core.errors import UserError, count, did_you_mean, shown
from metaeval.core.files import sha256_json
from metaeval.core.headings import LABELS, TEXTS, mapped
from metaeval.core.tables import Row, UserTable, any_table, name_column
from metaeval.corpus.label_exports import label_export
from metaeval.corpus.level_words import NAME_WORDS, WORDS, own_words, plain_word
from metaeval.corpus.model import SupportLevel
from metaeval.decisions.citation_items import CitationItems, Item
from metaeval.decisions.label_forms import SUPPORT, LabelQuestion
from metaeval.stats.agreement import krippendorff_alpha
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.prediction_powered import Sample

_log = logging.getLogger("metaeval")

DrawnUnit = Literal["item", "answer"]

_NUMBERS: Mapping[frozenset[float], Mapping[float, SupportLevel]] = {
    frozenset({0.0, 1.0, 2.0}): {0.0: SupportLevel.NONE, 1.0: SupportLevel.PARTIAL, 2.0: SupportLevel.FULL},
    frozenset({0.0, 0.5, 1.0}): {0.0: SupportLevel.NONE, 0.5: SupportLevel.PARTIAL, 1.0: SupportLevel.FULL},
}
_TWO = {0.0: SupportLevel.NONE, 1.0: SupportLevel.FULL}
_CURE = f"write full, partial or none (or 2, 1, 0; or yes, no), leave it blank, {NAME_WORDS}"


@dataclass(frozen=True)
class ItemLabels:
    """Human labels of items, and the sampling design that their file states.

    levels: by item id, one level (2 full, 1 partial, 0 none) for each annotator. probability, stratum: by item id;
    empty where the file has none. unit: sampling unit, if the file names it. blank: ids of the items in the file
    without any level. notes: how the file was read.
    """

    name: str
    levels: Mapping[str, tuple[int, ...]]
    probability: Mapping[str, float]
    stratum: Mapping[str, str]
    unit: DrawnUnit | None = None
    blank: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the levels and the design."""
        return sha256_json([sorted(part.items()) for part in (self.levels, self.probability, self.stratum)])

    @property
    def three(self) -> bool:
        """Whether any annotator gives the level partial, so that the labels use three levels."""
        return any(level == SupportLevel.PARTIAL for levels in self.levels.values() for level in levels)


def labels_of(labels: Any, items: CitationItems, mapping: Mapping[str, str] | None = None) -> ItemLabels:
    """Return the labels of items in a file, a data frame, records, or a mapping of ids to levels.

    labels=None: the levels that the items have, or the column of levels in their table; `ItemLabels` are returned
    unchanged. mapping: the heading of each role. Raises `UserError` that names the cell and a remedy for an unknown id,
    an unknown level, two levels of an item by one annotator, and a probability that is not above 0 and at most 1.
    """
    if labels is None:
        levels = {row.id: (row.level,) for row in items.rows if row.level is not None}
        named = items.table and (mapped(LABELS, mapping or {}).get("level") or items.table.like(LABELS["level"]))
        if items.table and named and not levels:
            return _read(items.table, items, mapping or {})
        if not levels:
            table = f" If a column of {items.name} has them, {name_column('level')}." if items.table else ""
            why = f"{items.name} holds no human labels: give them with --labels FILE"
            raise UserError(f"{why} ('metaeval label' draws items to label).{table}")
        return ItemLabels(items.name, levels, {}, {}, notes=("labels: the levels in the file of items",))
    if isinstance(labels, ItemLabels):
        return labels
    if isinstance(labels, Mapping):
        labels = [{"id": name, "level": level} for name, level in labels.items()]
    return _read(any_table(labels, "the labels"), items, mapping or {})


def labels_of_each(files: Sequence[CitationItems], labels: Any, mapping: Mapping[str, str] | None) -> list[ItemLabels]:
    """Return the labels of one or two files of items; where these share an id, one label file for both has FILE/ID."""
    if len(files) == 1:
        return [labels_of(labels, files[0], mapping)]
    if labels is None:
        return [labels_of(None, items, mapping) for items in files]
    both = set(files[0].numbers) & set(files[1].numbers)
    names = [f"{items.name}/" if both else "" for items in files]
    pairs = list(zip(names, files, strict=True))
    rows = tuple(replace(row, id=f"{name}{row.id}") for name, items in pairs for row in items.rows)
    try:
        whole = labels_of(labels, CitationItems(" and ".join(items.name for items in files), rows), mapping)
    except UserError as error:
        if both:
            cure = f"write {names[0]}ID or {names[1]}ID in the labels"
            raise UserError(f"{error} Both files have an item {min(both)!r}: {cure}.") from error
        raise
    label_sets = []
    for name, items in pairs:
        id_by_key = {f"{name}{row.id}": row.id for row in items.rows}
        levels, chances, strata = (
            {id_by_key[key]: value for key, value in part.items() if key in id_by_key}
            for part in tuple[Mapping[str, Any], ...]((whole.levels, whole.probability, whole.stratum))
        )
        if not levels:
            why = f"The labels in {whole.name} include no item of {items.name}"
            raise UserError(f"{why}; a difference needs labels of both files: label some of its items too.")
        blank = tuple(id_by_key[key] for key in whole.blank if key in id_by_key)
        label_sets.append(replace(whole, levels=levels, probability=chances, stratum=strata, blank=blank))
    return label_sets


def _read(table: UserTable, items: CitationItems, mapping: Mapping[str, str]) -> ItemLabels:
    roles, cure, notes = mapped(LABELS, mapping), "", list[str]()
    if export := label_export(table, mapping, roles.get("level", ""), items.numbers):
        table, roles["level"], *notes, cure = export
    if "id" in table.headings and roles.get("id") not in table.headings:
        roles.pop("id", None)  # the mapping is about the items: a sheet that was drawn from them has an id column
    columns = table.find(LABELS, roles, ["level"])
    usual = {name for names in LABELS.values() for name in names}
    texts = [str(value).strip() for value in table.rows[0].cells.values() if value is not None]
    cells = [text.casefold().replace(" ", "_") for text in texts]
    if sum(cell in usual for cell in cells) > 1 and WORDS.keys().isdisjoint(cells):
        listed = ", ".join(map(shown, cells[:3]))
        raise UserError(f"{table.rows[0].where} looks like a second header row ({listed}): delete one of the two.")
    for heading in reversed(table.like(LABELS["id"])) if "id" not in roles else ():
        if not items.numbers.keys().isdisjoint(table.texts(heading).tolist()):
            columns["id"] = heading  # of several columns of ids, the one with those of the items
    ids = table.texts(columns["id"]).tolist() if "id" in columns else []
    by_number, by_texts = "id" not in columns and len(table.rows) == len(items.rows), list[str]()
    if by_number:
        ids = [item.id for item in items.rows]
    elif items.numbers.keys().isdisjoint(ids):
        by_texts = _ids_by_texts(table, items)
    ids = by_texts or ids
    if not ids:
        table.find({"id": LABELS["id"]}, {}, ["id"])
    scale = _scale(table, columns["level"], own_words(mapping))
    levels: dict[str, dict[str, tuple[int, Row]]] = {}
    chances: dict[str, float] = {}
    strata: dict[str, str] = {}
    units: set[str] = set()
    blank = []
    for row, item_id in zip(table.rows, ids, strict=True):
        if not item_id:
            raise row.wrong(columns["id"], "is blank: " + (cure or "write the item's id, or delete the row"))
        if item_id not in items.numbers:
            where, example = row.place(columns["id"]), shown(items.rows[0].id)
            what = f"{where} names item {shown(item_id)}, which is not in {items.name} (an id there: {example})"
            cure = cure or "correct the id, or delete the row"
            raise UserError(f"{what}: {cure}.{did_you_mean(item_id, items.numbers)}")
        if "probability" in columns:
            chances[item_id] = _probability(row, columns["probability"])
        if "stratum" in columns:
            strata[item_id] = row.text(columns["stratum"])
        if "unit" in columns and row.text(columns["unit"]):
            units.add(row.text(columns["unit"]))
        text = row.text(columns["level"])
        if text not in scale:
            blank.append(item_id)
            continue
        who = row.text(columns["annotator"]) if "annotator" in columns else ""
        known = levels.setdefault(item_id, {})
        if who in known and known[who][0] != scale[text]:
            before = f"{known[who][1].place(columns['level'])} says {SupportLevel(known[who][0]).label}"
            what = f"says {shown(text)}, and {before} of the same item {shown(item_id)}"
            raise row.wrong(columns["level"], f"{what}: keep one, or name who judged in a column 'annotator'")
        known[who] = int(scale[text]), row
    if not levels:
        where = f"{table.name}: column {shown(columns['level'])}"
        raise UserError(f"{where} is blank in every row: write full, partial or none (or 2, 1, 0) into some.")
    if units - {"item", "answer"} or len(units) > 1:
        where = f"{table.name}: column {shown(columns['unit'])}"
        raise UserError(f"{where} holds {', '.join(sorted(units))}; allowed: item or answer.")
    _warn_of_two_levels(table.name, items, levels)
    columns_read = ", ".join(f"{role} in {shown(heading)}" for role, heading in columns.items())
    meant = ", ".join(f"{shown(text)} is {level.label}" for text, level in sorted(scale.items(), key=lambda of: -of[1]))
    rows = "; items by the order of rows" if by_number else "; items by their texts" if by_texts else ""
    return ItemLabels(
        table.name,
        {item_id: tuple(level for level, _ in known.values()) for item_id, known in levels.items()},
        chances,
        strata,
        next(iter(units), None),  # type: ignore[arg-type]
        tuple(item_id for item_id in dict.fromkeys(blank) if item_id not in levels),
        (*notes, f"labels: {columns_read}{rows}", f"levels: {meant}"),
    )


def _ids_by_texts(table: UserTable, items: CitationItems) -> list[str]:
    """Return the id of the item with each row's statement and source; an empty list unless each row has just one."""
    names = {"statement": (*TEXTS["statement"], "text"), "source": TEXTS["source"]}
    headings = {side: match[0] for side, usual in names.items() if (match := table.like(usual))}
    of_texts: dict[tuple[str, ...], str] = {}
    for item in items.rows if "statement" in headings else ():
        key = tuple(" ".join(getattr(item, side).split()) for side in headings)
        of_texts[key] = "" if key in of_texts else item.id
    keys = zip(*([" ".join(text.split()) for text in table.texts(name)] for name in headings.values()), strict=True)
    ids = [of_texts.get(key, "") for key in keys]
    return ids if all(ids) else []


def _warn_of_two_levels(name: str, items: CitationItems, levels: Mapping[str, Mapping[str, tuple[int, Row]]]) -> None:
    """Log a warning if one annotator gives a statement and its source two levels, under two ids; both stay."""
    first: dict[tuple[str, str, str], tuple[int, Row]] = {}
    twice: dict[tuple[str, str, str], tuple[Row, Row]] = {}
    for item_id, by_annotator in levels.items():
        item = items.rows[items.numbers[item_id]]
        for who, (level, row) in by_annotator.items() if item.statement else ():
            before = first.setdefault((who, item.statement, item.source), (level, row))
            if before[0] != level:
                twice.setdefault((who, item.statement, item.source), (before[1], row))
    if twice:
        earlier, later = next(iter(twice.values()))
        example = f"{len(twice):,} times, for example in {earlier.where} and {later.where}"
        _log.warning("%s: one source of a statement has two levels, which both count: %s.", name, example)


def _probability(row: Row, heading: str) -> float:
    text, chance = row.text(heading), np.nan
    with suppress(ValueError):
        chance = number_in(text)
    if not 0 < chance <= 1:
        problem = f"is {shown(text)}" if text else "is blank"
        raise row.wrong(heading, f"{problem}: write the probability of being drawn, a number above 0 and at most 1")
    return chance


def _scale(table: UserTable, heading: str, user_words: Mapping[str, SupportLevel]) -> dict[str, SupportLevel]:
    """Return the level of each text in the column of levels that is not blank or missing (NaN).

    Raises `UserError` where words and numbers are mixed, since 1 would be ambiguous.
    """
    texts = {text: row for row in reversed(table.rows) if (text := row.text(heading)) and not is_missing(text)}
    known = {**WORDS, **user_words}
    words: dict[str, SupportLevel] = {}
    numbers: dict[str, float] = {}
    for text, row in texts.items():
        if control := next((mark for mark in text if category(mark) == "Cc"), ""):
            raise row.wrong(heading, f"holds the control character {ord(control):#04x}: type the level again")
        if (word := plain_word(text)) in known:
            words[text] = known[word]
            continue
        try:
            numbers[text] = number_in(text)
        except ValueError:
            raise row.wrong(heading, f"is {shown(text)}, which is not a level: {_CURE}") from None
    if words and numbers:
        text, problem = next(iter(numbers)), f"and other cells hold words ({next(iter(words))}): {_CURE}"
        raise texts[text].wrong(heading, f"is the number {text}, {problem}")
    if not numbers:
        return words
    values = frozenset(numbers.values())
    meaning = next((scale for known, scale in _NUMBERS.items() if values <= known and values - {0.0, 1.0}), None)
    meaning = meaning or (_TWO if values <= {0.0, 1.0} else None)
    if meaning is None:
        text = max(numbers, key=lambda text: numbers[text] not in (0.0, 0.5, 1.0, 2.0))
        raise texts[text].wrong(heading, f"is {text}, which is not a level: {_CURE}")
    return {text: meaning[value] for text, value in numbers.items()}


def agreement(labels: ItemLabels) -> str:
    """Return the agreement of annotators on items with two labels or more, as a clause; empty without such items."""
    twice = [levels for levels in labels.levels.values() if len(levels) > 1]
    if not twice:
        return ""
    ratings = np.full((len(twice), max(map(len, twice))), np.nan)
    for row, levels in zip(ratings, twice, strict=True):
        row[: len(levels)] = levels
    alike = sum(len(set(levels)) == 1 for levels in twice)
    alpha = krippendorff_alpha(ratings, "interval")
    beyond = "all of one level" if np.isnan(alpha) else f"Krippendorff's alpha {alpha:.2f} (levels 0, 1, 2)"
    return f"{count(len(twice), 'item')} judged twice or more, {alike:,} of them alike; {beyond}"


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """Labelled items as a sample. shares: (n, 3) of each item, the shares of annotators who chose none, partial, full.

    unit: sampling unit. design: the sampling design in words. lost: number of items or claims drawn without a label.
    """

    sample: Sample
    shares: Floats
    unit: DrawnUnit
    design: str
    lost: int

    def label(self, *levels: SupportLevel) -> Floats:
        """Return the share (n,) of annotators who give each item one of these levels."""
        return np.asarray(self.shares[:, [int(level) for level in levels]].sum(axis=1))

    @property
    def level(self) -> Floats:
        """Return the mean level of each item, (n,), from 0 to 2."""
        return np.asarray(self.shares @ np.array([0.0, 1.0, 2.0]))


def labelled_sample(items: CitationItems, labels: ItemLabels) -> LabelledItems:
    """Return the labelled items as a sample, with the sampling design of the label file.

    Without probabilities there the design is a simple random sample; without a unit, of whole answers where every
    labelled answer is labelled whole, and else of items. Items that were drawn and not labelled count as missing at
    random within their stratum, so the probabilities of the labelled ones are lowered. Raises `UserError` for one
    labelled unit.
    """
    rows = np.array(sorted(items.numbers[item_id] for item_id in labels.levels), dtype=np.int64)
    ids = [items.rows[row].id for row in rows]
    chosen = [labels.levels[item_id] for item_id in ids]
    shares = np.array([[levels.count(level) for level in (0, 1, 2)] for levels in chosen], dtype=np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    groups, singles = items.groups, items.singles
    labelled = np.unique(singles[rows])
    answer = np.zeros(int(singles.max()) + 1, dtype=np.int64)  # of each single
    answer[singles] = groups
    sizes, held = (np.bincount(codes, minlength=int(groups.max()) + 1) for codes in (answer, answer[labelled]))
    whole = bool(((held == 0) | (held == sizes)).all()) and int(sizes[held > 0].max()) > 1
    unit: DrawnUnit = labels.unit or ("answer" if whole else "item")
    what = "whole answer" if unit == "answer" else items.what.removesuffix("s")
    names = [labels.stratum.get(item_id, "") for item_id in ids]
    stratum = np.unique(names, return_inverse=True)[1].astype(np.int64)
    total, drawn = (sizes.size, int((held > 0).sum())) if unit == "answer" else (answer.size, labelled.size)
    judged_ones = set(labelled.tolist())
    blank = {int(singles[items.numbers[item_id]]): labels.stratum.get(item_id, "") for item_id in labels.blank}
    lost = Counter(name for single, name in blank.items() if single not in judged_ones)
    if labels.probability:
        chance = np.array([labels.probability.get(item_id, np.nan) for item_id in ids])
        kept = Counter(dict(zip(singles[rows].tolist(), names, strict=True)).values())
        chance *= np.array([kept[name] / (kept[name] + lost[name]) for name in names])
        design = f"probabilities of the file; {count(drawn, what)} drawn"
    else:
        chance = np.full(rows.size, drawn / total)
        design = f"a simple random sample of {count(drawn, what)} of {total:,} (the file gives no probabilities)"
        if unit == "answer" and labels.unit is None:
            design += ": whole answers, since every labelled answer is labelled whole"
    codes = groups[rows] if unit == "answer" else singles[rows]
    if np.unique(codes).size < 2:
        raise UserError(f"{labels.name} labels only one {what}, and an interval needs two: label more.")
    return LabelledItems(Sample(rows, chance, codes, stratum), shares, unit, design, lost.total())


@dataclass(frozen=True, eq=False)
class Drawn:
    """Items drawn for labelling, in the order in which they are to be labelled.

    rows: (n,) indices of the items. probability, stratum ("" for none): (n,) of each drawn item. known: by id, the
    probability, of this and the earlier draw together, of each item with an existing label. form: the questions.
    """

    items: CitationItems
    rows: Ints
    probability: Floats
    stratum: Sequence[str]
    unit: DrawnUnit
    known: Mapping[str, float] = field(default_factory=dict)
    form: Sequence[LabelQuestion] = SUPPORT

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of the sheet to fill in; annotators see neither scores nor systems."""
        columns = (question["column"] for question in self.form)
        return ("id", *self._context, "statement", "passage", *columns, "probability", "stratum", "unit")

    @cached_property
    def _context(self) -> list[str]:
        """The fields of an item that tell which answer it is of: the question stands for a group of the same name."""
        rows = self.items.rows
        known = [name for name in ("group", "question", "answer") if any(getattr(row, name) for row in rows)]
        return known[1:] if all(row.group == row.question for row in rows) else known

    @property
    def records(self) -> list[dict[str, Any]]:
        """One record for each drawn item, with blank cells for the labels."""
        design = zip(self.rows, self.probability.tolist(), self.stratum, strict=True)
        return [self._record(self.items.rows[place], "", chance, stratum) for place, chance, stratum in design]

    def records_of_existing(self, existing: ItemLabels) -> Iterator[dict[str, Any]]:
        """Yield the records of items with existing labels, one for each label; several annotators are numbered."""
        for item_id, levels in existing.levels.items():
            row = self.items.rows[self.items.numbers[item_id]]
            for number, level in enumerate(levels, start=1):
                who = {"annotator": str(number)} if len(levels) > 1 else {}
                yield {**self._record(row, SupportLevel(level).label, self.known[item_id], ""), **who}

    def _record(self, row: Item, level: str, chance: float, stratum: str) -> dict[str, Any]:
        answers = [level] * len(self.form)
        context = (getattr(row, name) for name in self._context)
        values = row.id, *context, row.statement, row.source, *answers, chance, stratum, self.unit
        return dict(zip(self.fields, values, strict=True))

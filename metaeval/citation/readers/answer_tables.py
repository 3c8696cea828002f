"""Citations and answers with citation marks in a table: which columns hold them, and the answers of its rows.

A list of n texts, also as JSON in a cell, is n passages; so are n numbered columns (Quelle 1, Quelle 2 ...), where the
mark [3] points at the column with the number 3. The question is the group, unless a column names the group.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metaeval.citation.data_model import Answer, Passage, check_ids
from metaeval.citation.readers.answers_jsonl import passages_of
from metaeval.core.cells import cell_list, plain_heading
from metaeval.core.errors import ColumnsError, shown
from metaeval.core.headings import ANSWERS, CITATIONS, PLURALS, mapped
from metaeval.core.parsing import MalformedError
from metaeval.core.tables import Row, UserTable
from metaeval.corpus.data_rows import DataRow

_log = logging.getLogger("metaeval")

_MARK = re.compile(r"\[\d+\]")
_LISTED = re.compile(r"(?m)^\s*\[\d+\]\s*")
_NUMBER = re.compile(r"(\d{1,9})[)\]]?\s*\Z")
_GROUPS = ("group", "question", "answer")
_MOST_GAPS = 100


@dataclass(frozen=True)
class CitedColumns:
    """The headings of the columns that a table of citations, or of answers, is read from.

    roles: heading by role (a key of `CITATIONS`). sources: headings of the passages, in order; among numbered columns,
    "" for a number without a column. group: heading of the unit of resampling, "" without one. text: heading of the
    answers with marks; "" where each row has a statement.
    """

    roles: Mapping[str, str]
    sources: Sequence[str]
    group: str
    text: str

    @property
    def named(self) -> dict[str, str]:
        """The quoted headings by what the columns are read as, for messages."""
        roles = {role: heading for role, heading in self.roles.items() if role not in (*_GROUPS, "source")}
        passages = [heading for heading in self.sources if heading]
        listed = " ".join([shown(passages[0]), *(["to", shown(passages[-1])] if len(passages) > 1 else [])])
        read = {"answer": self.text, **roles, "group": self.group}
        words = {role: shown(heading) for role, heading in read.items() if heading}
        return words | {"passages" if self.text or len(passages) > 1 else "source": listed}


def cited_columns(table: UserTable, columns: Mapping[str, str], can_map: bool = True) -> CitedColumns:
    """Find the columns of statements or, where there are none, of answers with marks, and those of their passages.

    columns: headings by role, as the user maps them. can_map: whether the command has the option --map. Guesses are
    logged. Raises `UserError` where a column is missing, and `ColumnsError` for marks in a mapped column of statements.
    """
    chosen = mapped(CITATIONS, columns)
    roles = table.find(CITATIONS, chosen)
    sources = _source_headings(table, roles)
    if not sources:
        table.find(CITATIONS, chosen, ["source"])
    text = ""
    if row := _marked(table, chosen.get("statement", "")):
        heading = chosen["statement"]
        kept = {role: name for role, name in columns.items() if role not in ("statement", "source", "passages", "text")}
        right = {**kept, "answer": heading, **({"passages": chosen["source"]} if "source" in chosen else {})}
        held = f"{row.place(heading)} is mapped as a statement and holds marks such as [1], so it looks like an answer"
        raise ColumnsError(f"{held}: map it as one (in Python: columns={right!r}), or delete the marks.", right)
    if "statement" not in roles:
        text = next((name for name in (chosen.get("answer", ""), *table.like(ANSWERS)) if _marked(table, name)), "")
        if not text:
            table.find(CITATIONS, chosen, ["statement"])
    groups = [named[role] for named in (chosen, roles) for role in _GROUPS if role in named]
    read = CitedColumns(roles, sources, next((name for name in groups if name != text), ""), text)
    guessed = {role: word for role, word in read.named.items() if word.strip('"') not in (role, *columns.values())}
    if guessed:
        words = ", ".join(f"{role} from {word}" for role, word in guessed.items())
        decides = "--map ROLE=COLUMN decides" if can_map else "a heading that is a role decides"
        _log.warning("%s is read so: %s (%s).", table.name, words, decides)
    return read


def _marked(table: UserTable, heading: str) -> Row | None:
    """Return the first row with a mark in a column, if there is one."""
    return next((row for row in table.rows if _MARK.search(row.text(heading))), None) if heading else None


def _source_headings(table: UserTable, roles: Mapping[str, str]) -> list[str]:
    """Return the headings of the columns of passages. roles: headings by role, as found.

    That of the role "source" and those that differ from it by a number, in the order of the numbers; a number without a
    column gives "" (if the numbers begin at 0 or 1 and end by 100). Without either, all plural headings (Sources,
    Passages ...).
    """
    first = roles.get("source", "")
    stems = [_numbered(first)[0]] if first else [plain_heading(name) for name in (*CITATIONS["source"], *PLURALS)]
    others = [heading for heading in table.headings if heading not in roles.values()]
    numbered = {heading: _numbered(heading) for heading in [first, *others] if heading}
    numbers = {name: number for name, (stem, number) in numbered.items() if number >= 0 and stem in stems}
    if len({numbered[heading][0] for heading in numbers}) == 1:
        ordered = sorted(numbers, key=lambda heading: numbers[heading])
        low, high = numbers[ordered[0]], numbers[ordered[-1]]
        if first in ("", *numbers) and low in (0, 1) and high <= _MOST_GAPS:
            by_number = {number: heading for heading, number in numbers.items()}
            ordered = [by_number.get(number, "") for number in range(low, high + 1)]
        numbers = dict.fromkeys(ordered, 0)
    if first or numbers:
        return [*([first] if first and first not in numbers else []), *numbers]
    return [heading for heading in others if plain_heading(heading) in PLURALS]


def _numbered(heading: str) -> tuple[str, int]:
    """Return a heading in plain form without the number at its end, and the number; -1 if there is none."""
    match = _NUMBER.search(heading)
    return (plain_heading(heading[: match.start()]), int(match[1])) if match else (plain_heading(heading), -1)


def answers_in(table: UserTable, columns: CitedColumns) -> list[Answer]:
    """Return the answers of a table, one for each row. Raises `UserError` for a malformed list and for equal ids."""
    answers, alone = [], len(columns.sources) == 1
    for number, row in enumerate(table.rows, start=1):
        passages = [passage for heading in columns.sources for passage in passages_in(row, heading, alone)]
        cells = {role: row.text(heading) for role, heading in columns.roles.items() if role != "source"}
        name, question = cells.get("id", str(number)), cells.get("question", "")
        group = (row.text(columns.group) if columns.group else "") or question or name
        text, system = row.text(columns.text), cells.get("system", "")
        answers.append(Answer(name, text, tuple(passages), question, group, system))
    check_ids((answer.id for answer in answers), "answers", table.name)
    return answers


def passages_in(row: Row, heading: str, alone: bool = False) -> tuple[Passage, ...]:
    """Return the passages in a row's cell: a list, also as JSON, or a text.

    alone: whether no other column has passages; then a text is split at lines that begin with [1], [2] ... An empty
    heading stands for one passage without a text.
    """
    if not heading:
        return (Passage(""),)
    value = row.value(heading)
    try:
        listed = cell_list(value)
    except MalformedError as error:
        if alone:
            raise row.wrong(heading, f"begins as a list and is not JSON ({error}): write a JSON list") from error
        listed = None
    if listed is not None:
        return passages_of(DataRow(row.place(heading), {heading: listed}), heading)
    text = row.text(heading)
    parts = [part.strip() for part in _LISTED.split(text) if part.strip()] if alone else []
    return tuple(map(Passage, parts if len(parts) > 1 else [text]))

"""How papers write the names of metrics and data sets, and what a caption says about measures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from metaeval.report.table import Note, Table, plain

_NAMING = ("metric", "pair", "data set")
"""Headings of the columns whose lines are named by metrics or data sets."""


@dataclass(frozen=True)
class Wording:
    """The words of a paper.

    names: what papers write, by the name of a metric or a data set. measures: what each measure is, in a sentence, by
    the name of its protocol and then by its label.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, table: Table) -> Table:
        """Return the table with names as papers write them; what its measures are is added to the legend."""
        blocks = table.blocks
        if table.stub in _NAMING:
            blocks = tuple(
                replace(block, lines=tuple(replace(line, name=self.named(line.name)) for line in block.lines))
                for block in blocks
            )
        return replace(
            table,
            subtitle=self.named(table.subtitle),
            blocks=blocks,
            groups=tuple(replace(group, title=self.named(group.title)) for group in table.groups),
            legend=plain(f"{table.legend} {self._explained(table)}"),
            footnotes=tuple(map(self._note, table.footnotes)),
            footer=tuple(map(self._note, table.footer)),
        )

    def named(self, text: str) -> str:
        """Return a text with each name as papers write it; what follows a name, as in bertscore-f1, is kept."""
        if not self.names:
            return text
        longest_first = sorted(self.names, key=len, reverse=True)
        pattern = rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
        return re.sub(pattern, lambda match: self.names[match[0]], text)

    def _note(self, note: Note) -> Note:
        text = self.named(note.text)
        return replace(
            note, text=text, items=tuple((self.named(names), self.named(item)) for names, item in note.items)
        )

    def _explained(self, table: Table) -> str:
        measures = next((self.measures[part] for part in table.key[:2] if part in self.measures), {})
        abouts = [f"{label}: {measures[label]}" for label in dict.fromkeys(table.headings) if measures.get(label)]
        return f"{'; '.join(abouts)}." if abouts else ""

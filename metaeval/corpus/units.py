"""Units of analysis: what one row of a protocol's input is, a chunk or a citation."""

from __future__ import annotations

from typing import NamedTuple

from metaeval.corpus.pairs import Pair, PairTable, Unit
from metaeval.errors import UserError


class UnitRow(NamedTuple):
    """One judged row: its gold level (None: not known), and the pairs whose scores it is made of.

    id: the pair id (unit chunk) or the citation id (unit citation). members: row numbers in the pair table.
    words: words of the chunk or of the cited document. position: the chunk's place in its document, from 0.
    """

    id: str
    statement_id: str
    group: str
    level: int | None
    cited: bool
    members: tuple[int, ...]
    statement: str
    words: int
    position: int


def unit_rows(table: PairTable, unit: Unit) -> list[UnitRow]:
    """Rows in table order: one per pair, or one per citation over all chunks of its document."""
    if unit == "chunk":
        return [_row(pair, pair.pair_id, pair.level, (number,), table) for number, pair in enumerate(table.pairs)]
    if table.pool != "own":
        raise UserError(
            f"pool={table.pool} adds chunks that nobody cites, so it needs unit=chunk (unit is 'citation')."
        )
    members: dict[str, list[int]] = {}
    for number, pair in enumerate(table.pairs):
        members.setdefault(pair.citation_id, []).append(number)
    return [
        _row(table.pairs[numbers[0]], citation_id, table.pairs[numbers[0]].citation_level, tuple(numbers), table)
        for citation_id, numbers in members.items()
    ]


def _row(pair: Pair, id: str, level: int | None, members: tuple[int, ...], table: PairTable) -> UnitRow:
    return UnitRow(
        id=id,
        statement_id=pair.statement_id,
        group=pair.group,
        level=level,
        cited=pair.cited,
        members=members,
        statement=pair.statement,
        words=sum(len(table.pairs[number].source.split()) for number in members),
        position=pair.chunk,
    )

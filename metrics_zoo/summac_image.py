"""SummaC's NLI image: each unit of a source against each unit of a statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metaeval.scoring.backends.classifier import Table
from metaeval.scoring.contract import Status
from metrics_zoo.summac_models import Order
from metrics_zoo.summac_units import Counts, Units, unseen_tokens


class NLIImage(NamedTuple):
    """What the NLI model says of a pair.

    values: probabilities of entailment, contradiction and neutral, (3, source units, statement units), fp32; zeros,
    (3, 1, 1), where a side has no unit. status: OK when there is something to score. tokens: of both texts' units and
    of what is in none, special tokens not counted. unseen: how many of them are in no pass, statement units apart.
    statement_tokens, statement_unseen: the same of each statement unit, (statement units,).
    """

    values: NDArray[np.float32]
    status: Status
    tokens: int
    unseen: int
    statement_tokens: Counts
    statement_unseen: Counts


class Passes:
    """The model's answers, looked up by the two units of each pass."""

    def __init__(
        self, compared: Iterable[tuple[str, str]], found: Table, labels: Order, sizes: Mapping[str, int]
    ) -> None:
        self._row = {pair: row for row, pair in enumerate(compared)}
        self._probabilities = found.values.softmax(-1).numpy()[:, list(labels) if self._row else []]
        self._cut = np.array(found.cut, dtype=np.int64)
        self._sizes = sizes

    def image(self, pair: tuple[str, str], read: Units, claimed: Units) -> NLIImage:
        """The image of a (source, statement)."""
        sources, statements = self._counts(read.kept), self._counts(claimed.kept)
        dropped = int(self._counts([*read.dropped, *claimed.dropped]).sum())
        tokens = dropped + int(sources.sum() + statements.sum())
        wordless = not pair[1].strip()
        if not (read.kept and claimed.kept):
            status = Status.EMPTY if wordless or not pair[0].strip() else Status.NOTHING_TO_SCORE
            return NLIImage(np.zeros((3, 1, 1), np.float32), status, tokens, tokens, *_NO_CLAIMS)
        rows = np.array([[self._row[unit, claim] for claim in claimed.kept] for unit in read.kept])
        values = np.ascontiguousarray(self._probabilities[rows].transpose(2, 0, 1))
        unread, unseen = unseen_tokens(sources, statements, self._cut[rows])
        status = Status.EMPTY if wordless else Status.OK
        return NLIImage(values, status, tokens, dropped + int(unread.sum()), statements, unseen)

    def _counts(self, pieces: Sequence[str]) -> Counts:
        return np.array([self._sizes[piece] for piece in pieces], dtype=np.int64)


_NO_CLAIMS = (np.zeros(0, np.int64), np.zeros(0, np.int64))

"""How alike the metrics rank the same rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from metaeval.experiment.metric_scores import Asked, Panel, frame_of
from metaeval.experiment.provenance import cell, make_sheet
from metaeval.experiment.sheet import Sheet, known
from metaeval.report.grid import Block, Cell, Line, Note, plain
from metaeval.stats.agreement import rank_correlation_matrix


def agreement_sheet(panel: Panel, asked: Asked) -> Sheet:
    """The Spearman correlation of each two metrics' scores, on the rows that a protocol sees and both scored."""
    frame = frame_of(panel, asked[0])
    scores = np.array([column.score[frame.numbers] for column in panel.columns])
    matrix = rank_correlation_matrix(scores)
    names = [plain(column.name) for column in panel.columns]
    scored = ~np.isnan(scores)
    lines = [
        Line(name, tuple(cell(known(matrix[i, j])) if j < i else Cell("") for j in range(len(names) - 1)))
        for i, name in enumerate(names)
        if i
    ]
    records = [
        {
            "one": one.name,
            "other": other.name,
            "spearman": known(matrix[i, j]),
            "rows": int((scored[i] & scored[j]).sum()),
        }
        for (i, one), (j, other) in combinations(enumerate(panel.columns), 2)
    ]
    return make_sheet(
        panel,
        frame,
        "agreement",
        "How alike the metrics rank the rows: Spearman correlation of their scores",
        {"analysis": "agreement"},
        ("metric", names[:-1], [Block("", tuple(lines))]),
        records,
        intervals=False,
        notes=[Note("reading", "near 1: two metrics that say the same thing, right or wrong")],
    )

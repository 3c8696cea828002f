"""Agreement of metrics: how alike they rank the rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from metaeval.analyses.panel import Panel, make_sheet
from metaeval.report.result_tables import cell
from metaeval.report.table import Note, Table, TableRow, known, plain
from metaeval.runs.evaluate import ProtocolSetup
from metaeval.stats.agreement import rank_correlation_matrix


def agreement_sheet(panel: Panel, protocol_setup: ProtocolSetup) -> Table:
    """Return the Spearman correlations of the scores of every two metrics, on the rows that both scored."""
    frame = panel.source.frame(protocol_setup[0])
    scores = np.array([column.score[frame.numbers] for column in panel.columns])
    matrix = rank_correlation_matrix(scores)
    names = [plain(column.name) for column in panel.columns]
    scored = ~np.isnan(scores)
    rows: list[TableRow] = []
    for i, name in list(enumerate(names))[1:]:
        rows.append(("", name, [cell(known(matrix[i, j])) if j < i else "" for j in range(len(names) - 1)]))
    records = [
        {
            "one": first.name,
            "other": second.name,
            "spearman": known(matrix[i, j]),
            "rows": int((scored[i] & scored[j]).sum()),
        }
        for (i, first), (j, second) in combinations(enumerate(panel.columns), 2)
    ]
    return make_sheet(
        panel,
        frame,
        "agreement",
        "How alike the metrics rank the rows: Spearman correlation of their scores",
        {"analysis": "agreement"},
        ("metric", names[:-1], rows),
        records,
        intervals=False,
        notes=[Note("reading", "near 1: two metrics that say the same thing, right or wrong")],
    )

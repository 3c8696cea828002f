"""What `compare` looks at beside the pairs of metrics: subgroups, preferences, agreement, and the gain of stacks."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.errors import UserError
from metaeval.experiment.comparing.bias import bias_sheet
from metaeval.experiment.comparing.complementarity import agreement_sheet, complementarity_sheet
from metaeval.experiment.comparing.subgroups import by_part, check_division
from metaeval.experiment.metric_scores import Panel, protocols_of
from metaeval.report.sheet import Sheet


def further_sheets(
    panels: Sequence[Panel], by: str | None, bias: bool, agreement: bool, gain: bool
) -> tuple[list[Sheet], list[str]]:
    """The analyses that are asked for, of each panel; and what could not be made, in sentences.

    Where none is asked for there are the agreement of the metrics, and the gain of stacking them unless its folds lack
    groups. Raises `UserError` where one that is asked for cannot be made.
    """
    plain = not (by or bias or agreement or gain)
    sheets = by_part(list(panels), check_division(by, panels[0].config)) if by else []
    left_out = []
    for panel in panels:
        # Rows that are cited, where there is a choice: those of a pool are candidates that nobody judged.
        asked = min(protocols_of(panel), key=lambda one: one[0].uses_pool)
        sheets += [bias_sheet(panel, asked)] if bias else []
        sheets += [agreement_sheet(panel, asked)] if agreement or plain else []
        try:
            sheets += [complementarity_sheet(panel, asked)] if gain or plain else []
        except UserError as error:
            if not plain:
                raise
            left_out.append(f"No gain of stacks: {error}")
    return sheets, left_out

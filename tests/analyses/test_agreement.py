"""Agreement of metrics against scipy's, with planted scores."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from metaeval.analyses.comparing.agreement import agreement_sheet
from metaeval.analyses.panel import load_panel
from metaeval.core import registry
from metaeval.core.config import load_run
from metaeval.runs.score import array_column


def test_agreement_is_scipys_spearman_on_the_rows_that_both_scored(scored_folder):
    panel = load_panel(load_run(None, {"metrics": "overlap,rouge", "results": scored_folder("t")}), True)
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, len(panel.source.rows)))
    a[:100] = np.nan
    columns = [array_column(name, values, {"metric": name}) for name, values in {"a": a, "b": b + c, "c": c}.items()]

    sheet = agreement_sheet(replace(panel, columns=columns), (registry.find("protocol", "correlation"), {}))

    found = {(record["one"], record["other"]): (record["spearman"], record["rows"]) for record in sheet.records}
    assert found["a", "b"] == (pytest.approx(spearmanr(a[100:], (b + c)[100:]).statistic, abs=1e-12), 954)
    assert found["b", "c"] == (pytest.approx(spearmanr(b + c, c).statistic, abs=1e-12), 1054)
    assert [line.name for line in sheet.lines] == ["b", "c"]

"""Thresholds learnt from human labels: made data on paper, the cards' own, and how well they do out of fold."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, f1_score

from metaeval.analyses.panel import judged
from metaeval.analyses.verdict_thresholds import calibrate, calibration_sheet
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.runs.metrics import load_metric

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def corpus(tmp_path):
    """Write a corpus of ten groups: per group one statement at each given (overlap with the page in words, level)."""

    def write(kinds, groups=10):
        rows = [{"type": "corpus", "format": "metaeval-corpus/1", "name": "made"}]
        for group in range(groups):
            rows.append({"type": "document", "id": f"d{group}", "text": "Apples bears cats dogs eagles foxes."})
            for number, (words, level) in enumerate(kinds):
                told = ["apples", "bears", "cats", "dogs"][:words] + ["zeal", "yarn", "xylem", "wool"][: 4 - words]
                statement = {"type": "statement", "id": f"s{group}-{number}", "group": f"g{group}"}
                rows.append({**statement, "text": " ".join(told)})
                citation = {"type": "citation", "statement": f"s{group}-{number}", "document": f"d{group}"}
                rows.append({**citation, "level": level})
        path = tmp_path / "made.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        settings = {"dataset": "jsonl", "data": path, "unit": "citation", "metrics": ("overlap",)}
        settings["store"] = tmp_path / "scores.sqlite"
        return RunConfig.model_validate({**settings, "interval": {"resamples": 100}})

    return write


METRICS = ("overlap", "rouge")

# Overlap 1, 0.75, 0.25: the share of the statement's four words that stand on the page.
SEPARATE = [(4, "full"), (3, "partial"), (1, "none")]


def test_separate_levels_are_parted_half_way(corpus):
    config = corpus(SEPARATE)
    _, (full,) = calibrate(config, "full")
    _, (partial,) = calibrate(config, "partial")
    assert full.threshold == pytest.approx((1 + 0.75) / 2)
    assert partial.threshold == pytest.approx((0.75 + 0.25) / 2)
    for one in (full, partial):
        values = {name: value.value for name, value in one.out_of_fold.items()}
        assert values == dict.fromkeys(("balanced accuracy", "F1", "accuracy", "kappa"), 1.0)
        # Nothing goes wrong in 10 groups: the least that gives such a sample once in 20, on kappa's scale of -1 to 1.
        assert one.out_of_fold["kappa"].ends[1:] == pytest.approx((2 * 0.05 ** (1 / 10) - 1, 1.0))
    assert (full.rows, full.positives, partial.positives) == (30, 10, 20)
    # The card's 0.63 takes the ten partial ones in: of 20 not full, 10 are told so. (1 + 1/2) / 2.
    assert full.declared[0] == 0.63
    assert full.declared[1]["balanced accuracy"].value == pytest.approx(0.75)


def test_the_sheet_is_what_a_calibration_is_read_from(corpus, recorded, tmp_path):
    from metaeval.report.table_files import write_table
    from metaeval.runs.metrics import find_cutoff

    config = corpus(SEPARATE)
    panel, found = calibrate(config, "partial")
    sheet = calibration_sheet(panel, found, "partial", "macro-f1", 5)
    uneven = corpus([*SEPARATE, (2, "partial"), (3, "none"), (4, "none")]).model_copy(update={"metrics": METRICS})
    others = {way: calibrate(uneven, *way) for way in (("full", "macro-f1", 2), ("partial", "balanced-accuracy", 10))}
    learnt = {str(way): [recorded.sheet(calibration_sheet(*of, *way)), of[1]] for way, of in others.items()}
    recorded.held("analyses-calibration", {"separate": [recorded.sheet(sheet), found], **learnt})
    config = corpus(SEPARATE)
    write_table(sheet, tmp_path)
    metric = load_metric("overlap", config)
    cutoff = find_cutoff("overlap", metric, {}, [tmp_path / "calibration.json"])
    assert (cutoff.value, cutoff.source) == (0.5, "calibrated on made/all, partial support")


@pytest.mark.parametrize(
    ("kinds", "run", "settings", "says"),
    [
        (SEPARATE, {}, {"target": "ful"}, "Did you mean 'full'"),
        (SEPARATE, {}, {"objective": "f1"}, "Unknown objective 'f1'"),
        (SEPARATE, {}, {"folds": 1}, "folds is 1; allowed: 2 or more"),
        (SEPARATE, {}, {"folds": 11}, "folds is 11; allowed: 2 to 10, the groups of made"),
        ([(4, "full"), (2, "full")], {}, {}, "Every row of .* is full"),
        # Two full and one other at each score: deciding all alike is best.
        ([(2, "none"), (2, "full")], {}, {}, "does not separate"),
        (SEPARATE, {"dataset": "frank", "unit": "chunk"}, {}, "frank has ratings and no documents"),
        (SEPARATE, {"metrics": ("published",)}, {}, "give a metric by its name"),
    ],
)
def test_what_cannot_be_learnt_is_refused(corpus, kinds, run, settings, says):
    with pytest.raises(UserError, match=says):
        calibrate(corpus(kinds).model_copy(update=run), **settings)


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
@pytest.mark.parametrize("name", ["overlap", "rouge"])
def test_the_thresholds_that_cards_declare_are_those_of_wice_dev(name, tmp_path):
    settings = {"dataset": "wice", "split": "dev", "data": DATA, "unit": "citation", "metrics": (name,)}
    config = RunConfig.model_validate({**settings, "store": tmp_path / "s.sqlite", "interval": {"resamples": 50}})
    panel, (found,) = calibrate(config)
    assert round(found.threshold, 2) == load_metric(name, config).card.threshold
    # What is said of the declared threshold, from scikit-learn on the same rows.
    rows = judged(panel.source.frame(panel.protocols[0][0]), panel.columns[0])
    human, decided = rows.gold == 2, rows.score >= found.declared[0]
    values = {measure: value.value for measure, value in found.declared[1].items()}
    assert values["balanced accuracy"] == pytest.approx(balanced_accuracy_score(human, decided), abs=1e-12)
    assert values["F1"] == pytest.approx(f1_score(human, decided), abs=1e-12)
    assert values["kappa"] == pytest.approx(cohen_kappa_score(human, decided), abs=1e-12)
    assert values["accuracy"] == pytest.approx(np.mean(human == decided), abs=1e-12)

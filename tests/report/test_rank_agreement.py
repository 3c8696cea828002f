"""The agreement of ranks across protocols: scipy on the results' values, and what is undefined with its reason."""

import csv
import itertools
import json

import pytest
from scipy.stats import kendalltau

import metaeval
from metaeval.core import registry
from metaeval.report.html_report import page
from metaeval.report.rank_agreement import rank_agreement
from metaeval.report.table_files import format_texts
from metaeval.runs.evaluate import declarations_of

HEADLINES = {"classification": "overall", "correlation": "spearman", "retrieval": "ndcg@5"}
DECLARATIONS = declarations_of(registry.find("protocol", name) for name in HEADLINES)


@pytest.fixture(scope="module")
def run(scored_folder):
    """The results of three metrics on the shipped corpus, under three protocols."""
    quick = {"interval": {"resamples": 20}, "comparison": {"permutations": 20}}
    return metaeval.run(metrics=["overlap", "rouge", "bm25"], results=str(scored_folder("ranks")), **quick)


def test_every_run_has_the_tau_that_scipy_gives(run):
    frame = run.to_frame()
    path = run.write() / "rank-agreement.json"
    records = json.loads(path.read_text())["records"]
    assert [(r["one"], r["other"]) for r in records] == [*itertools.combinations(HEADLINES, 2)]
    metrics = frame[frame.kind == "metric"].set_index(["protocol", "measure"])
    for record in records:
        sides = [metrics.loc[(record[side], HEADLINES[record[side]])].value for side in ("one", "other")]
        assert record["tau"] == pytest.approx(kendalltau(*sides).statistic, abs=1e-12)
        ends = (2 * record["alike"] / 3 - 1, 1 - 2 * record["opposite"] / 3)
        assert (record["tau_low"], record["tau_high"]) == pytest.approx(ends, abs=1e-12)
    # The tests of Spearman and of the mean ROC-AUC order rouge below both others.
    assert (records[0]["alike"], records[0]["opposite"], records[0]["pairs"]) == (2, 0, 3)
    texts = format_texts(path, ["text", "markdown", "latex", "csv"])
    assert all("classification and correlation" in texts[end] for end in (".txt", ".md", ".tex"))
    assert [line["tau"] for line in csv.DictReader(texts[".csv"].splitlines())] == [str(r["tau"]) for r in records]
    assert "Agreement of ranks across protocols" in page(run, declarations=DECLARATIONS)
    assert "Kendall tau-b of ranks: classification and correlation 0.33" in " ".join(str(run).split())


def without(result, metrics):
    """The result in which these metrics have no value under the headline measure."""
    key = HEADLINES[result.protocol]
    kept = [{k: v for k, v in row.values.items() if k != key or row.metric not in metrics} for row in result.rows]
    rows = zip(result.rows, kept, strict=True)
    return result.model_copy(update={"rows": [row.model_copy(update={"values": values}) for row, values in rows]})


def with_tests(result, **update):
    """The result with this in all its comparisons, or without tests."""
    tests = result.significance
    changed = [test.model_copy(update=update) for test in tests.comparisons]
    return result.model_copy(update={"significance": tests.model_copy(update={"comparisons": changed})})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda result: result, ["0.33", ("0.33", "1.00"), "2", "0", "3"]),
        # Rows without a score could reverse every order: nothing is decided.
        (lambda result: with_tests(result, holm=None), ["0.33", ("-1.00", "1.00"), "0", "0", "3"]),
        # On the rows that both scored, the order is another than in the table.
        (lambda result: with_tests(result, difference=0.0), ["0.33", ("-1.00", "1.00"), "0", "0", "3"]),
        (lambda result: with_tests(result, p=None, holm=None), ["0.33", None, "0", "0", "3"]),
        (lambda result: result.model_copy(update={"significance": None}), ["0.33", None, "0", "0", "3"]),
        (lambda result: without(result, ["bm25"]), ["–", None, "0", "0", "1"]),
    ],
)
def test_what_is_not_known_says_why(run, change, expected):
    table = rank_agreement([change(run[0]), run[1]], DECLARATIONS)[0]
    first, *counts = table.lines[0].cells
    assert [first.number, first.ends, *(cell.number for cell in counts)] == expected
    assert bool(first.marks) == (first.ends is None)
    assert [note.text for note in table.footnotes if note.label in first.marks] == [
        record["note"] for record in table.records if record["note"]
    ]

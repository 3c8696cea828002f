"""`metaeval.evaluate_arrays`: arrays in, the tables of `evaluate_scores` out."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import roc_auc_score

import metaeval
from metaeval.core.errors import UserError
from metaeval.core.files import csv_text, sha256_json

pyarrow = pytest.importorskip("pyarrow")
torch = pytest.importorskip("torch")

SETTINGS = {"interval": {"resamples": 50}, "comparison": {"permutations": 50}}


@pytest.fixture
def arrays():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 240)
    groups = np.repeat(np.arange(40), 6)
    return {"good": labels + rng.normal(size=240), "poor": rng.normal(size=240)}, labels, groups


def values(results, protocol, metric):
    (result,) = [one for one in results if one.protocol == protocol]
    (row,) = [one for one in result.rows if one.metric == metric]
    return result, row.values


def test_the_values_are_those_of_scikit_learn_and_scipy(arrays):
    scores, labels, groups = arrays

    results = metaeval.evaluate_arrays(scores, labels, groups, protocols=["classification", "correlation"], **SETTINGS)

    result, found = values(results, "classification", "good")
    extremes = labels != 1
    assert found["fs_ns"].value == pytest.approx(
        roc_auc_score(labels[extremes] == 2, scores["good"][extremes]), abs=1e-12
    )
    assert (result.data.groups, found["fs_ns"].low < found["fs_ns"].value < found["fs_ns"].high) == (40, True)
    _, found = values(results, "correlation", "poor")
    assert found["spearman"].value == pytest.approx(spearmanr(labels, scores["poor"])[0], abs=1e-12)


def on_demand(array):
    """What some libraries give: an object whose array is made when it is asked for."""
    return type("OnDemand", (), {"__array__": lambda self, dtype=None, copy=None: array})()


WORDS = np.array(["Not supported", " partially_supported", "FULL"])
ORDER = np.random.default_rng(1).permutation(240)
NAMES = [f"r{number}" for number in range(240)]
WAYS = {  # of scores x, labels y and groups g
    "lists": lambda x, y, g: (x.tolist(), y.tolist(), g.tolist()),
    "words": lambda x, y, g: (x, WORDS[y], g.astype(str)),
    "words of one's own": lambda x, y, g: (x, np.array(["bad", "fair", "good"])[y], g),
    "exact numbers": lambda x, y, g: ([Decimal(str(one)) for one in x], [*map(Fraction, y.tolist())], g),
    "gradient": lambda x, y, g: (torch.tensor(x, requires_grad=True), torch.tensor(y), torch.tensor(g)),
    "bfloat16": lambda x, y, g: (torch.tensor(x).bfloat16(), y, g),
    "large numbers": lambda x, y, g: ([2**60 + 2**20 * int(rank) for rank in rankdata(x)], y, g),
    "scalars": lambda x, y, g: ([*torch.tensor(x)], [*y], [*g]),
    "Arrow": lambda x, y, g: (pyarrow.array(x), pyarrow.array(y), pyarrow.chunked_array([g[:9], g[9:]])),
    "on demand": lambda x, y, g: tuple(map(on_demand, (x, y, g))),
    "a series and lists": lambda x, y, g: (x.tolist(), pandas.Series(y, range(9, 249)), g),
    "categories": lambda x, y, g: (x, pandas.Series(WORDS[y], dtype="category"), g),
    "nullable": lambda x, y, g: (x, pandas.Series(y, dtype="Int64"), g),
    "series": lambda x, y, g: (pandas.Series(x).iloc[ORDER], pandas.Series(y), pandas.Series(g).sort_values()),
    "index of texts": lambda x, y, g: (pandas.Series(x, NAMES).iloc[ORDER], pandas.Series(y, NAMES), g),
    "repeated index": lambda x, y, g: (pandas.Series(x, [0] * 240), pandas.Series(y, [0] * 240), g),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_values_do_not_depend_on_the_kind_of_array(arrays, way, caplog):
    scores, labels, groups = arrays
    given = {"protocols": "classification", "columns": {"full": "good", "partial": "fair", "none": "bad"}, **SETTINGS}
    other, level, group = WAYS[way](scores["good"], labels, groups)
    if way == "bfloat16":
        scores = {"good": other.float().numpy()}

    result, expected = values(metaeval.evaluate_arrays(scores, labels, groups, **given), "classification", "good")
    for others, name in (({"good": other}, "good"), (other, "scores")):
        again, found = values(metaeval.evaluate_arrays(others, level, group, **given), "classification", name)
        assert {key: one.value for key, one in found.items()} == {key: one.value for key, one in expected.items()}
        assert (again.data.groups, again.data.levels) == (result.data.groups, result.data.levels)
    beside = ("a series and lists", "index of texts", "repeated index")  # a series and arrays, read by place
    assert ("have the index of labels" in caplog.text) == (way in beside)
    assert ("in the order of" in caplog.text) == (way in ("series", "index of texts"))


def test_frames_of_scores_have_a_metric_a_column_in_the_order_of_the_labels(arrays):
    scores, labels, groups = arrays
    expected = metaeval.evaluate_arrays(scores, labels, groups, protocols="classification", **SETTINGS)[0]
    shuffled = pandas.DataFrame(scores).sample(frac=1, random_state=3)
    for table, level in ((shuffled, pandas.Series(labels)), (pyarrow.table(scores), labels)):
        found = metaeval.evaluate_arrays(table, level, groups, protocols="classification", **SETTINGS)[0]
        assert [row.values for row in found.rows] == [row.values for row in expected.rows]


LOST = np.arange(240) < 60


@pytest.mark.parametrize(
    "lost",
    [
        lambda groups: np.where(LOST, np.nan, groups),
        lambda groups: np.where(LOST, None, groups).astype(str),
        lambda groups: np.ma.array(groups, mask=LOST),
        lambda groups: [*[pandas.NA, pandas.NaT, " ", math.nan, np.ma.masked, None] * 10, *groups[60:].tolist()],
        lambda groups: pandas.Series(groups, dtype="Int64").where(~LOST),
        lambda groups: np.where(LOST, np.datetime64("NaT"), np.datetime64("2020-01-01", "ns") + groups.astype("m8[D]")),
    ],
)
def test_rows_without_a_group_are_groups_of_their_own_as_in_a_file(arrays, lost, caplog, tmp_path):
    scores, labels, groups = arrays
    result = metaeval.evaluate_arrays(scores, labels, lost(groups), protocols="classification", **SETTINGS)[0]
    assert result.data.groups == 90
    assert "60 rows name no group" in caplog.text
    # The ids of the rows are names of other groups.
    rows = zip(range(240), labels, ["" if gone else g for gone, g in zip(LOST, groups, strict=True)], strict=True)
    (tmp_path / "own.csv").write_text(csv_text([["id", "gold", "group"], *rows]))
    caplog.clear()
    assert metaeval.load_ratings(data=tmp_path / "own.csv").columns.group.categories.size == 90
    assert "60 rows name no group" in caplog.text


@pytest.mark.parametrize("groups", [["g", "g\0"], [2**63 + 1, -1], [2**63, 2**63 + 1], [1, 1.5]])
def test_groups_are_not_joined(arrays, groups):
    scores, labels, _ = arrays
    result = metaeval.evaluate_arrays(scores, labels, groups * 120, protocols="correlation", **SETTINGS)[0]
    assert result.data.groups == 2


@pytest.mark.parametrize("masked", [lambda one: np.ma.array(one, mask=LOST), lambda one: np.where(LOST, np.nan, one)])
def test_masked_and_missing_values_are_missing(arrays, masked, caplog):
    scores, labels, groups = arrays
    kept = pytest.approx(spearmanr(labels[~LOST], scores["good"][~LOST])[0], abs=1e-12)
    for unscored, given in ((60, (masked(scores["good"]), labels)), (0, (scores["good"], masked(labels)))):
        result = metaeval.evaluate_arrays(*given, groups, protocols="correlation", controls=False, **SETTINGS)[0]
        (row,) = result.rows
        assert (row.scored, row.unscored, row.values["spearman"].value) == (180, unscored, kept)
    assert "60 of 240 texts have no rating" in caplog.text


def test_ratings_that_are_no_levels_are_read_as_ratings(arrays, caplog):
    scores, labels, groups = arrays

    results = metaeval.evaluate_arrays(scores, labels + 0.5, groups, protocols="correlation", **SETTINGS)

    assert set(results[0].data.levels) == {"0.5", "1.5", "2.5"}
    assert not caplog.messages
    results = metaeval.evaluate_arrays(scores, labels > 0, groups, protocols="correlation", **SETTINGS)
    assert "full" in results[0].data.levels, "as True and False in a CSV file"
    caplog.clear()
    ratings = {"levels": "no"}
    results = metaeval.evaluate_arrays(scores, labels, dataset_options=ratings, protocols="correlation", **SETTINGS)
    assert (set(results[0].data.levels), results[0].data.groups) == ({"0", "1", "2"}, 240)
    assert "Each row counts as a group of its own" in caplog.text


@pytest.mark.parametrize(
    ("scores", "labels", "groups", "says"),
    [
        ([1.0, 2.0], [0, 1, 2], None, "scores has 2 values and labels 3"),
        ([1.0, 2.0, 3.0], [0, 1, 2], ["a"], "groups has 1 value"),
        ([1.0, 2.0], ["full", "partly so"], None, 'row 2, column "labels" is "partly so".*--map full='),
        ([1.0, 2.0], [0, math.inf], None, 'row 2, column "labels" is "inf"'),
        ([1.0, 2.0], [0, math.nan], None, "1 rating"),
        (["a", "b"], [0, 2], None, 'scores should be numbers.*row 1 is "a"'),
        (pandas.DataFrame(index=[0, 1]), [0, 2], None, "no metric"),
        ([1.0, 2.0], np.array([[0], [2]]), None, r"labels .*shape \(2, 1\)"),
        (np.float64(1), [0, 2], None, "scores should be an array"),
        ([1.0, 2.0], {0: 0, 1: 2}, None, "labels should be an array"),
        ([1.0, 2.0], np.array([0, 2], dtype="M8[ns]"), None, 'column "labels" is "1970-01-01'),
        (np.array([2**53, 2**53 + 1]), [0, 2], None, "scores holds numbers that differ and are equal as 64-bit floats"),
        (pandas.Series([1.0, 2.0]), pandas.Series([0, 2], [1, 2]), None, "scores and labels are series of unlike"),
        ([1, 2, 3], pandas.Series([0, 1, 2], [0, 0, 1]), pandas.Series("abc".split(), [0]), "groups and labels"),
        ({1: [1, 2], "1": [2, 1]}, [0, 2], None, 'column "1" appears twice'),
        ({"": [1, 2], " ": [2, 1]}, [0, 2], None, "without a name"),
        ([2.0**53, 2**53 + 1], [0, 2], None, "scores holds numbers that differ"),
        (pandas.Series([1, 2], [["a", "b"], [0, 1]]), pandas.Series([0, 2]), None, "unlike index"),
    ],
)
def test_wrong_arrays_are_one_sentence(scores, labels, groups, says):
    with pytest.raises(UserError, match=says):
        metaeval.evaluate_arrays(scores, labels, groups)
    with pytest.raises(UserError, match="leave metrics= out"):
        metaeval.evaluate_arrays([1.0, 2.0], [0, 2], metrics=["overlap"])


@pytest.mark.parametrize("kind", [list, np.array, pandas.Series])
def test_signatures_hold_the_hash_of_the_scores_by_row_number(kind):
    scores = [0.5, -0.0, 1e-7, 1e18, None, 3, -2.5e300, 0.1, 7.0, 12.25, 0.3]
    content = {f"{row:02}": score if score is None else float(score) for row, score in enumerate(scores)}
    labels = [2, 0, 1, 2, 0, 1, None, 2, 0, 1, 2]
    numbers = kind([np.nan if score is None else score for score in scores])
    for result in metaeval.evaluate_arrays({"mine": numbers}, kind([np.nan if x is None else x for x in labels])):
        (row,) = [row for row in result.rows if row.kind == "metric"]
        assert f"sha256:{sha256_json(content)[:12]}" in row.signature
        assert (row.total, row.scored, row.statuses) == (10, 9, {"absent": 1})


def test_what_cannot_be_computed_is_left_out_with_a_warning(caplog):
    found = metaeval.evaluate_arrays([0.1, 0.9] * 9, [0, 2] * 9, range(18), protocols=["correlation", "systems"])
    assert [result.protocol for result in found] == ["correlation"]
    assert [said in caplog.messages for said in found.left_out] == [True]

"""Columns of labels: coefficients against scikit-learn and statsmodels, and by hand."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from metaeval.citation.human.annotator_columns import joint_agreement, label_columns, pair_agreement, read_label_sets
from metaeval.core.errors import UserError
from metaeval.stats.agreement import krippendorff_alpha
from metaeval.stats.intervals import Resampling

PLAIN = Resampling(0)


@pytest.fixture
def table(tmp_path):
    """Write columns as a CSV file and read label sets from it."""

    def made(columns, name="labels.csv", **wanted):
        path = tmp_path / name
        rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        path.write_text("\n".join(rows) + "\n")
        return read_label_sets([path], wanted) if wanted else path

    return made


def drawn(seed, readers=3, n=60):
    generator = np.random.default_rng(seed)
    truth = generator.integers(1, 6, size=n)
    return {
        f"r{number}": np.where(generator.random(n) < 0.6, truth, generator.integers(1, 6, size=n))
        for number in range(readers)
    }


def agreed(read, pairs, drawn=PLAIN):
    (labels,) = read.sets
    return pair_agreement(labels.codes, len(labels.categories), read.group, read.n_groups, drawn, pairs)


@pytest.mark.parametrize("seed", range(4))
def test_kappas_are_scikit_learns_and_statsmodels(table, seed):
    columns = drawn(seed, readers=4)
    read = table(columns, utility=list(columns))
    (labels,) = read.sets
    for pair in combinations(range(4), 2):
        both = [columns[labels.readers[place]] for place in pair]
        found = agreed(read, [pair])
        assert found["kappa"].value == pytest.approx(cohen_kappa_score(*both), abs=1e-12)
        assert found["equal"].value == pytest.approx(np.mean(both[0] == both[1]))
    joint = joint_agreement(read, labels, np.arange(60), PLAIN)
    ratings = np.array(list(columns.values())).T.astype(float)
    for name, distance in (("alpha", "nominal"), ("alpha_interval", "interval")):
        assert joint[name].value == pytest.approx(krippendorff_alpha(ratings, distance), abs=1e-12)
    counts, _ = aggregate_raters(ratings)
    assert joint["fleiss"].value == pytest.approx(fleiss_of_statsmodels(counts), abs=1e-12)


def test_the_mean_of_pairs_by_hand_without_blanks(table):
    columns = {"aliice": [1, 1, 0, 0], "r1": [1, 1, 1, 0], "r2": [1, 1, 0, 0]}
    # r1 says yes three times, aliice twice: agreed 3/4, by chance 2/4 * 3/4 + 2/4 * 1/4 = 1/2, kappa .5. aliice and r2
    # agree on all: 1.
    read = table(columns, recall=["r1", "r2", "aliice"])
    assert agreed(read, [(0, 2), (1, 2)])["kappa"].value == pytest.approx((0.5 + 1) / 2)
    read = table({"a": ["yes", "no", "", "yes"], "b": ["yes", "no", "no", "no"]}, support=["a", "b"])
    (labels,) = read.sets
    found = agreed(read, [(0, 1)])
    # Of the three units that both labelled, two are equal.
    assert found["equal"].value == pytest.approx(2 / 3)
    assert labels.categories == ["no", "yes"]


def test_intervals_draw_questions(table):
    # The same labels: as many groups as rows, or one question for every ten rows.
    columns = {name: values.tolist() for name, values in drawn(1, readers=2).items()}
    alone = table(columns, utility=["r0", "r1"])
    together = table({"question": [f"q{row // 10}" for row in range(60)], **columns}, utility=["r0", "r1"])
    assert (alone.n_groups, together.n_groups) == (60, 6)
    both = [agreed(read, [(0, 1)], Resampling(30))["kappa"] for read in (alone, together)]
    assert both[0].value == both[1].value
    assert (both[0].low, both[0].high) != (both[1].low, both[1].high)


def test_tables_of_readers_are_joined_by_id(tmp_path, table):
    anna = table({"id": ["u1", "u2", "u3"], "level": [1, 2, 3]}, "anna.csv")
    ben = table({"id": ["u3", "u1", "u9"], "level": [3, 1, 2]}, "ben.csv")
    read = read_label_sets([anna, ben], {"level": ["level"]})
    assert list(read.sets[0].readers) == ["anna", "ben"]
    assert [[read.sets[0].categories[code] for code in row] for row in read.sets[0].codes] == [["1", "1"], ["3", "3"]]
    assert read.left_out == 2


def test_all_that_is_read_of_labels_and_how_far_they_agree(recorded, table):
    words = ["yes", "no", "", " yes ", "maybe", "no", "yes", ""]
    one = {"id": list("abcdefgh"), "system": list("xxyyxxyy"), "question": ["q1", "q1", "", "q2", "q2", "q3", "", "q3"]}
    one |= {"u": [10, 2, 2, "", 9, 10, 2, 1], "v": [10, 9, 2, 1, "", 10, 1, 1], "w": words, "x": words[::-1]}
    two = {"id": list("hgfezcb"), "u": [1, 2, 10, 9, 2, 2, 9], "w": ["no", *words[:6]]}
    wanted = {"grade": ["u", "v"], "said": ["w", "x", "u"]}
    both = [table(one, "one.csv"), table(two, "two.b.csv")]
    found = {}
    for name, read in {
        "one": read_label_sets(both[:1], wanted),
        "two": read_label_sets(both, {"grade": ["u"], "said": ["w", "u"]}),
        "bare": read_label_sets([table({"a": [1, 2, 2], "b": [1, 2, 1]}, "bare.csv")], {"it": ["a", "b"]}),
    }.items():
        found[name] = [read.systems, read.group, read.n_groups, read.left_out, read.ids]
        for labels in read.sets:
            rows, resampling = np.arange(len(read.group)), Resampling(40, fewest=1)
            kinds = labels.codes, len(labels.categories), read.group, read.n_groups, resampling
            kappas = pair_agreement(*kinds, [*combinations(range(len(labels.readers)), 2)])
            kappas |= joint_agreement(read, labels, rows, resampling)
            shown = {key: [each.value, each.low, each.high] for key, each in kappas.items()}
            found[f"{name} {labels.name}"] = [labels, labels.values(rows[::2]), shown]
    recorded.held("human-labels", found)


@pytest.mark.parametrize(
    ("columns", "wanted", "says"),
    [
        ({"a": [1], "b" * 40: [1]}, {"x": ["a", "c"]}, 'no column "c".*: "a", "b{28}…'),
        ({"a": [1], "b": [1]}, {"x": ["a"]}, "have one column"),
        ({"id": [1], "a": [""], "b": [""]}, {"x": ["a", "b"]}, "all blank"),
    ],
)
def test_wrong_columns_are_one_sentence(table, columns, wanted, says):
    with pytest.raises(UserError, match=says):
        table(columns, **wanted)
    for text in ("utility", "=a,b", "utility="):
        with pytest.raises(UserError, match="allowed: NAME=COLUMN,COLUMN"):
            label_columns([text])

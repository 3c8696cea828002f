"""Tables of ratings at the command line: what their columns are taken for, and the tables that come out."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

import metaeval
from metaeval.core.files import csv_text
from metaeval.report.result import load_result
from metaeval.report.table_files import load_table

QUICK = tuple(f"--set={key}" for key in ("interval.resamples=0", "comparison.permutations=0", "controls=false"))
CUT = "--set=protocol_options.classification.multi_class=ovr"
RNG = np.random.default_rng(11)


def write(path, columns):
    """A CSV of columns by heading."""
    path.write_text(csv_text([list(columns), *zip(*columns.values(), strict=True)]))


def values(path, measure):
    """A measure of every metric of a result file."""
    return {row.metric: row.values[measure].value for row in load_result(path).rows}


def parts(path):
    """The value of each metric on each part, from a sheet."""
    return {(one["part"], one["metric"]): one["value"] for one in load_table(path).records}


def evaluated(ran, path, *more):
    return ran("evaluate", "-d", "ratings", "--data", path, *QUICK, *more)


@pytest.mark.parametrize("most", [2, 3])
def test_scores_that_are_all_0_1_or_2_are_evaluated_as_verdicts_next(most, cli, tmp_path):
    mine = np.arange(24) * 7 % 5 % (most + 1)
    write(tmp_path / "levels.csv", {"id": range(24), "gold": np.arange(24) % 3, "mine": mine})
    ended = evaluated(cli, "levels.csv", "-p", "correlation")
    assert ("Next: metaeval evaluate -p verdicts " in ended.out) == (most == 2)


def test_two_graded_sets_with_four_dimensions(cli, refused, tmp_path):
    names, n = ("coherence", "consistency", "fluency", "relevance"), 40
    gold = {name: RNG.integers(1, 6, n) for name in names}
    scores = gold["consistency"] + RNG.normal(size=n)
    sets = np.repeat(["news", "dialogue"], n // 2)
    rows = {"id": range(n), "query": np.arange(n) // 2, "subset": sets}
    write(tmp_path / "graded.csv", {**rows, **{f"gold:{name}": one for name, one in gold.items()}, "mine": scores})
    evaluated(cli, "graded.csv", "-p", "correlation", "--by", "dimension", "--set", "dataset_options.gold=all")
    found = parts(next(tmp_path.glob("results/evaluate/*/correlation-by-dimension.json")))
    assert found == {(name, "mine"): pytest.approx(spearmanr(gold[name], scores)[0], abs=1e-12) for name in names}
    evaluated(cli, "graded.csv", "-p", "correlation", "--by", "subset", "--set", "dataset_options.gold=fluency")
    found = parts(next(tmp_path.glob("results/evaluate/*/correlation-by-subset.json")))
    for name in ("news", "dialogue"):
        of = sets == name
        assert found[name, "mine"] == pytest.approx(spearmanr(gold["fluency"][of], scores[of])[0], abs=1e-12)
    assert "one with --set dataset_options.gold=NAME" in refused("evaluate", "-d", "ratings", "--data", "graded.csv")


def test_gold_between_the_levels_is_counted_and_can_be_cut(cli, refused, tmp_path):
    drawn = np.random.default_rng(5)
    gold = drawn.choice([0, 0.25, 0.75, 1], 60)
    scores = np.round(gold + drawn.normal(size=60), 1)
    write(tmp_path / "graded.csv", {"id": range(60), "article": np.arange(60) // 3, "gold": gold, "mine": scores})
    left = f"{np.isin(gold, (0.25, 0.75)).sum()} of 60 rows are left out, as their gold is not 0, 1 or 2"
    said = " ".join(evaluated(cli, "graded.csv", "-p", "classification,decision", CUT).out.split())
    assert said.count(left) == 1, said
    for more, measure in (([CUT], "some_none"), ([], "auc")):
        half = "--set=dataset_options.cut=0.5"
        assert "left out" not in evaluated(cli, "graded.csv", "-p", "classification", half, *more).out
        found = values(tmp_path / "results/latest/classification.json", measure)["mine"]
        assert found == pytest.approx(roc_auc_score(gold >= 0.5, scores), abs=1e-12)
    write(tmp_path / "off.csv", {"id": range(60), "gold": gold + 0.1, "mine": scores})
    for given, says in (
        (["off.csv", "-p", "classification", CUT], "which multi_class=ovo does not need"),
        (["off.csv", "--set=dataset_options.cut=half"], 'dataset_options.cut is "half"; allowed: a number'),
        (["off.csv", "--map=gold=gold", "--map=group=gold"], '"gold" is given for gold and group'),
        (["off.csv", "--set=dataset_options.metrics=gold"], 'column "gold" is listed in dataset_options.metrics, but'),
    ):
        assert says in refused("evaluate", "-d", "ratings", "--data", *given)


def test_what_newcomers_type_first_is_told_what_to_type(cli, refused, tmp_path, caplog):
    rows = {"id": ["a", "b", "c"], "human": ["full", "2", "none"]}
    write(tmp_path / "mine.csv", {**rows, "judge": ["43%", "50 %", "7"]})
    write(tmp_path / "sums.csv", {**rows, "judge": [1, 2, 3]})
    (tmp_path / "own.py").write_text("")
    for typed, says in (
        (["evaluate", "-d", "ratings", "--data", "mine.csv"], "list the metrics: --set dataset_options.metrics"),
        (["evaluate", "mine.csv"], 'mine.csv line 2, column "judge" is "43%", in a column of numbers: write numbers'),
        (["evaluate", "sums.csv"], "'metaeval evaluate -d ratings --data sums.csv'"),
        (["evaluate", "--data", "sums.csv"], "Ratings and scores in one table: -d ratings --data sums.csv"),
        (["evaluate", "-d", "sums.csv"], "A file of your own: -d ratings --data sums.csv"),
        (["run", "-m", "own"], "A function or class of your own in own.py: own:NAME."),
        (["run", "-m", "own.py:Metric"], "Leave .py out: own:Metric."),
    ):
        assert says in refused(*typed)
    cli("evaluate", "-d", "ratings", "--data", "mine.csv", "-s", "skip_bad_cells=true", "-q")
    assert '2 in "judge" (mine.csv line 2' in caplog.text.replace(f"{tmp_path}/", "")
    assert 'words and numbers of "human" as one scale' in caplog.text


def test_columns_are_taken_for_what_they_hold_or_for_what_is_said(cli, refused, tmp_path):
    columns = {"key": ["a", "b", "c"], "truth": [1, 0, 1], "year": [1999, 2001, 2001], "mine": [0.5, "", 0.1]}
    write(tmp_path / "own.csv", columns)
    named = [f"--set=dataset_options.{one}" for one in ("id=key", "gold=truth", "metrics=mine")]
    ended = evaluated(cli, "own.csv", "-p", "classification", "--by", "year", *named)
    assert {"1999", "2001"} <= {part for part, _ in parts(next(tmp_path.glob("results/evaluate/*/*.json")))}, ended.out
    error = refused("evaluate", "-d", "ratings", "--data", "own.csv")
    assert "no column for the human rating; its columns are" in error
    assert "add --map gold=COLUMN" in error
    (tmp_path / "bad.csv").write_text("id,gold,mine\na,1,0.5\nb,high,0.1\n")
    assert 'column "gold" is "high": write a number' in refused("evaluate", "-d", "ratings", "--data", "bad.csv")


def test_lines_hold_the_same_as_tables(cli, refused, tmp_path):
    rows = [
        {"id": f"r{n}", "group": f"g{n // 2}", "gold": ("full", "none")[n % 2], "fields": {"domain": "ab"[n % 2]}}
        | {"pair": f"p{n // 2}", "scores": {"judge": ("yes", "no")[(n // 3) % 2]}}
        for n in range(12)
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evaluated(cli, "own.jsonl", "-p", "verdicts,preference")
    assert values(tmp_path / "results/latest/verdicts.json", "accuracy") == {"judge": pytest.approx(8 / 12)}
    rows[1] |= {"pair": "p5"}
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "a pair must be in one" in refused("evaluate", "-d", "ratings", "--data", "own.jsonl")


def test_annotators_in_columns_and_in_rows_are_one(cli, tmp_path):
    n, people = 60, ("ann", "bob", "cy")
    true = RNG.integers(0, 2, n)
    votes = {one: np.where(RNG.random(n) < 0.8, true, 1 - true) for one in people}
    columns = {"id": [f"t{k}" for k in range(n)], "group": [f"g{k // 2}" for k in range(n)]}
    columns["mine"] = true + RNG.normal(size=n)
    write(tmp_path / "columns.csv", {**columns, **{f"vote {one}": votes[one] for one in people}})
    rows = {name: np.repeat(one, 3) for name, one in columns.items()}
    every = np.array([votes[one] for one in people]).T.ravel()
    write(tmp_path / "rows.csv", {**rows, "gold": every, "annotator": [f"vote {one}" for one in people] * n})
    found = []
    for name in ("columns", "rows"):
        evaluated(cli, f"{name}.csv", "-p", "correlation")
        found.append(values(tmp_path / "results/latest/correlation.json", "spearman")["mine"])
    mean = np.mean(list(votes.values()), axis=0)
    assert found == pytest.approx([spearmanr(mean, columns["mine"])[0]] * 2, abs=1e-12)
    # One annotator's votes are the gold where they are named so.
    for one in people:
        evaluated(cli, "columns.csv", "--map", f"gold=vote {one}", "-p", "classification")
        area = values(tmp_path / "results/latest/classification.json", "auc")["mine"]
        assert area == pytest.approx(roc_auc_score(votes[one], columns["mine"]), abs=1e-12)


def test_yes_is_full_where_partial_is_said_too(cli, tmp_path):
    rows = [("yes", "yes", "yes"), ("partial", "partial", "no"), ("no", "no", "no"), ("no", "partial", "yes")]
    columns = dict(zip(("gold", "graded", "plain"), zip(*rows, strict=True), strict=True))
    write(tmp_path / "said.csv", {"id": range(4), **columns})
    lines = [
        {"id": str(n), "group": str(n), "gold": {"yes": "full", "no": "none"}.get(gold, gold)}
        | {"scores": {"graded": graded, "plain": plain}}
        for n, (gold, graded, plain) in enumerate(rows)
    ]
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name in ("said.csv", "lines.jsonl"):
        evaluated(cli, name, "-p", "verdicts", "--set", "protocol_options.verdicts.against=full")
        assert values(tmp_path / "results/latest/verdicts.json", "accuracy") == {"graded": 1.0, "plain": 0.75}
        evaluated(cli, name, "-p", "verdicts")
        assert values(tmp_path / "results/latest/verdicts.json", "accuracy")["graded"] == 0.75


def test_ratings_of_one_group_are_not_sent_to_a_plan_that_needs_two(cli, refused, tmp_path):
    columns = {"id": range(20), "group": ["g"] * 20, "human": range(20), "a": RNG.random(20), "b": RNG.random(20)}
    write(tmp_path / "one.csv", columns)
    assert "Next: " not in evaluated(cli, "one.csv", "-p", "correlation").out
    assert "the systems are not known (--map system=COLUMN names them)" in refused(
        "evaluate", "-d", "ratings", "--data", "one.csv", "-p", "systems"
    )


def test_ratings_without_a_named_group_get_the_cure(cli, refused, tmp_path, caplog):
    rows = {"id": range(40), "annotator": ["a"] * 40, "gold": RNG.random(40), "mine": RNG.random(40)}
    write(tmp_path / "rated.csv", {**rows, "chat": [f"chat {one % 5}" for one in range(40)]})
    ended = evaluated(cli, "rated.csv")
    assert 'name its column: --map group=COLUMN ("chat" has 5 values).' in caplog.text
    assert "Left out: retrieval" in ended.out  # nobody asked for it
    assert "Left out" not in ended.err
    assert "Left out: retrieval" in evaluated(cli, "rated.csv", "-p", "retrieval,correlation").err
    assert "type metaeval evaluate -d ratings --data rated.csv." in refused("evaluate", "rated.csv")


def test_annotators_with_a_column_each_are_listed(cli, refused, tmp_path, caplog):
    columns = {"id": ["a", "b", "c", "d"], "Ana": [1, 0, "", ""], "Ben": [1, 1, 0, ""], "mine": [0.9, 0.4, 0.1, 0.2]}
    write(tmp_path / "wide.csv", columns)
    read = metaeval.load_ratings(data=str(tmp_path / "wide.csv"), columns={"annotator": "Ana, Ben"})
    assert {row.id: row.gold for row in read.rows} == {"a": 1, "b": 0.5, "c": 0}  # means of 1 1, 0 1, and 0 alone
    assert list(read.scores) == ["mine"]
    assert "wide.csv: 4 items, 2 annotators, 3 ratings blank." in caplog.text.replace(f"{tmp_path}/", "")
    assert "1 of 4 texts have no rating and are left out" in caplog.text
    assert "--map annotator=COLUMN,COLUMN" in refused("evaluate", "-d", "ratings", "--data", "wide.csv")
    assert "Did you mean 'Ben'?" in refused(*"evaluate -d ratings --data wide.csv --map annotator=Ana,Bn".split())


NUMBERS = pandas.read_csv(Path(__file__).with_name("three_levels.csv"), dtype=str)
WORDS = NUMBERS.replace({"human": {"2": "Fully Supported", "1": "Partially supported ", "0": "Not supported"}})
LOST = WORDS.assign(human=WORDS.human.where(WORDS.index % 7 > 0, "NaN"))
VALUES = [97.8, 90.9, 88.2, 0.35, 0.1]


@pytest.mark.parametrize(
    ("table", "index", "expected", "said"),
    [
        (NUMBERS, False, VALUES, "ratings instead: --set dataset_options.levels=no"),
        (WORDS, False, VALUES, '"Partially supported" is partial'),
        (NUMBERS, True, VALUES, 'the column "" holds row numbers, as pandas writes them, and is left out'),
        (NUMBERS.reset_index(names="Unnamed: 0"), False, VALUES, 'the column "Unnamed: 0" holds row numbers'),
        (LOST, False, [98.6, 93.6, 87.5], "9 of 60 texts have no rating and are left out"),
    ],
)
def test_one_table_has_its_values_however_it_is_written(ran, tmp_path, caplog, table, index, expected, said):
    table.to_csv(tmp_path / "a.csv", index=index)
    evaluated(ran, "a.csv", "-p", "classification,verdicts")
    assert said in caplog.text
    found = {}
    for name, metric in (("classification", "s1"), ("verdicts", "judge")):
        rows = {row.metric: row.values for row in load_result(tmp_path / f"results/latest/{name}.json").rows}
        found |= {key: one.value for key, one in rows[metric].items()}
    shown = [
        *(round(100 * found[key], 1) for key in ("fs_ns", "fs_ps", "ps_ns")),
        found["accuracy"],
        found["quadratic_kappa"],
    ]
    assert shown[: len(expected)] == pytest.approx(expected, abs=1e-12)

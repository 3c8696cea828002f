"""Score files in and out: pairs, score, evaluate."""

import json

import pytest


@pytest.fixture
def pairs(ran, small, tmp_path):
    """The small corpus' pairs as `metaeval pairs` writes them."""
    ran("pairs", "pairs.jsonl", *small)
    return [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]


@pytest.fixture
def write_scores(tmp_path):
    """Write rows as NAME.jsonl, with a manifest if one is given."""

    def write(rows, name="mine", manifest=None):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        if manifest is not None:
            path.with_name(path.name + ".manifest.json").write_text(json.dumps(manifest))
        return path.name

    return write


def values(tmp_path, protocol, unit="chunk"):
    """The estimates of the first row of a result file."""
    result = json.loads((tmp_path / f"results/latest/{protocol}.json").read_text())
    return {key: value["value"] for key, value in result["rows"][0]["values"].items()}


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_scores_written_and_read_back_give_the_digits_of_a_run(cli, ran, small, tmp_path, suffix):
    ran("run", "-m", "rouge", "-p", "all", *small, "-q")
    direct = [values(tmp_path, protocol) for protocol in ("correlation", "classification", "retrieval")]

    scored = cli("score", "-m", "rouge", "--format", suffix, "-o", "scores", *small)
    evaluated = cli("evaluate", f"scores/rouge.{suffix}", *small, "-q")

    assert (scored.code, evaluated.code) == (0, 0)
    assert scored.out == f"scores/rouge.{suffix}: 27 pairs, 0 without a score\n"
    assert [values(tmp_path, p) for p in ("correlation", "classification", "retrieval")] == direct


def test_a_spreadsheet_with_a_column_for_each_metric_is_compared(cli, ran, small, pairs, tmp_path, caplog):
    rows = [f"{pair['pair_id']},{-float(number % 3)},{number % 5}" for number, pair in enumerate(pairs)]
    (tmp_path / "mine.csv").write_text("\n".join(["Pair,one,other", *rows]))

    compared = ran("compare", "mine.csv", *small, "-p", "classification")
    assert [name in compared.out for name in ("one", "other")] == [True, True]
    assert "-0.0" not in (tmp_path / "results/latest/pairs.jsonl").read_text()
    assert caplog.text.count("pair_id is read from the column 'Pair'") == 1

    mapped = ran("evaluate", "mine.csv", "--map", "score=other", *small, "-p", "classification")
    assert "--map score=other" in next(line for line in mapped.out.splitlines() if line.startswith("Next: "))
    result = json.loads((tmp_path / "results/latest/classification.json").read_text())
    assert [row["metric"] for row in result["rows"] if row["kind"] == "metric"] == ["other"]
    recipe = cli("results", "show").out
    assert "--map score=other" in recipe
    # What somebody emptied or rewrote in the manifest is no line.
    manifest = tmp_path / "results/latest/manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "data": {}, "versions": ["1"]}))
    changed = cli("results", "show").out
    labels = "Settings", "Data", "Versions"
    told = [[f"\n{label}: " in text for label in labels] for text in (recipe, changed)]
    assert told == [[True] * 3, [True, False, False]]


def test_whatever_takes_a_score_file_takes_its_columns(cli, ran, small, pairs, tmp_path):
    rows = [f"{pair['pair_id']},{number % 7}" for number, pair in enumerate(pairs)]
    (tmp_path / "mine.csv").write_text("\n".join(["Paar,Punkte", *rows]))
    columns = ("--map", "pair_id=Paar", "--map", "score=Punkte")
    asked = (*columns, "-p", "correlation", "-q", "-s", "interval.resamples=0", "-s", "comparison.permutations=0")
    for command in (("run", "-m", "scores:mine.csv"), ("run", "--suite", "-m", "scores:mine.csv")):
        ran(*command, *small, *asked)


def test_a_column_that_is_mapped_and_not_there_is_told(refused, small, tmp_path):
    (tmp_path / "mine.csv").write_text("pair_id,one\na,1\n")
    assert 'no column "two"' in refused("evaluate", "mine.csv", "--map", "score=two", *small)
    assert refused("evaluate", "mine.csv", "--map", "points=one", *small).startswith("--map points=one: unknown role")
    for value in ("5", "null", "[1]", "score"):
        assert "it should be settings of its own" in refused(
            "evaluate", "mine.csv", "--set", f"columns={value}", *small
        )


def test_a_partial_file_is_evaluated_with_counts_and_bounds(ran, small, pairs, write_scores, tmp_path):
    scored = [p for p in pairs if p["pair_id"] != "s0:river#0"]
    file = write_scores([{"pair_id": p["pair_id"], "score": float(p["level"] == "full")} for p in scored])

    ended = ran("evaluate", file, *small, "-p", "classification", "--full")
    assert "26 scored + 1 unscored (absent) + 0 excluded = 27" in ended.out
    assert "rows without a score, left out, with [worst..best] value: " in ended.out
    row = json.loads((tmp_path / "results/latest/classification.json").read_text())["rows"][0]
    # Two of the three FULL pairs are scored, above all 21 NONE pairs: AUC 1. The third may stand below all: 2/3.
    assert row["values"]["fs_ns"]["value"] == 1.0
    assert row["values"]["fs_ns"]["bounds"] == pytest.approx([2 / 3, 1.0])
    assert row["statuses"] == {"absent": 1}


@pytest.mark.parametrize("unit", ["chunk", "citation"])
def test_lower_is_more_support_where_the_manifest_says_so(ran, small, pairs, write_scores, tmp_path, unit):
    key = "pair_id" if unit == "chunk" else "citation_id"
    level = "level" if unit == "chunk" else "citation_level"
    rows = {p[key]: {"pair_id": p[key], "score": -float(p[level] == "full")} for p in pairs}

    file = write_scores(rows.values(), manifest={"direction": -1})

    ran("evaluate", file, *small, "-u", unit, "-p", "classification", "-q")
    assert values(tmp_path, "classification", unit)["fs_ns"] == 1.0


def test_two_files_of_one_name_are_told_apart_by_their_paths(ran, small, tmp_path):
    for folder in ("a", "b,c"):
        ran("score", "-m", "overlap", "--format", "jsonl", "-o", folder, *small, "-q")

    ran("evaluate", "a/overlap.jsonl", "b,c/overlap.jsonl", *small, "-p", "correlation", "-q")
    rows = json.loads((tmp_path / "results/latest/correlation.json").read_text())["rows"]
    assert [row["metric"] for row in rows] == ["overlap", "overlap (b,c/overlap.jsonl)"]

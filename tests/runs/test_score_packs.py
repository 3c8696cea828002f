"""Score packs: faults by hand, cells against scikit-learn and scipy, and the two commands on a folder of its own."""

import gzip
import json
import shutil

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

import metaeval
from metaeval.errors import UserError
from metaeval.runs.reference_cells import read_cells, recompute, set_tables
from metaeval.runs.score_packs import read_pack, read_packs, reference_sets
from tests.conftest import MINI

CARD = {
    "format": "metaeval-pack/1",
    "metric": "mine",
    "version": "1",
    "signature": "mine@v1",
    "run": "by hand",
    "by": "a test",
    "licence": "MIT",
    "commercial": True,
    "date": "2026-01-02",
    "needs": "cpu",
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The shipped corpus as somebody's own file, in pages: 30 statements or more on three levels."""
    folder = tmp_path_factory.mktemp("sets")
    (folder / "sets.yaml").write_text(json.dumps({"own": {"title": "Own", "dataset": "jsonl", "unit": "page"}}))
    return folder, reference_sets(folder)["own"].load(MINI)


@pytest.fixture
def folder(source, tmp_path):
    """A reference folder of its own, in which there are no packs yet."""
    (tmp_path / "reference").mkdir()
    shutil.copy(source[0] / "sets.yaml", tmp_path / "reference")
    return tmp_path / "reference"


@pytest.fixture
def pack(source, tmp_path):
    """Writes a pack: pack(scores by id, **fields of the card) is its folder."""

    def write(given, text=None, file="own.csv", data=None, **fields):
        card = {**CARD, **fields}
        where = tmp_path / card["metric"]
        where.mkdir(exist_ok=True)
        rows = [
            f"{one},{'' if score is None else score},{'failed' if score is None else 'ok'}"
            for one, score in given.items()
        ]
        (where / file).write_text(text or "\n".join(["pair,score,status", *rows]) + "\n")
        data = data or source[1].corpus.fingerprint
        (where / "card.yaml").write_text(json.dumps({"scores": {"own": {"file": file, "data": data}}, **card}))
        return where

    return write


def good(source, seed=0, noise=1.0):
    """Scores that follow the levels."""
    draw = np.random.default_rng(seed)
    return {row.id: round(float(row.level or 0) + noise * draw.normal(), 3) for row in source[1].rows}


def cells(folder, measure, metric="mine"):
    (row,) = [one for one in read_cells(folder).cells if (one["measure"], one["metric"]) == (measure, metric)]
    return row


def add(folder, pack, **more):
    return metaeval.results.reference_add(pack, folder=folder, data=MINI, **more)


def test_a_cell_has_the_values_of_scikit_learn_and_scipy_and_says_where_it_is_from(folder, pack, source):
    scores = good(source)

    add(folder, pack(scores))

    known = {row.id: int(row.level) for row in source[1].rows if row.level is not None}
    ends = [one for one in known if known[one] != 1]
    expected = roc_auc_score([known[one] == 2 for one in ends], [scores[one] for one in ends])
    row = cells(folder, "fs_ns")
    assert float(row["value"]) == pytest.approx(expected, abs=1e-6)
    assert float(cells(folder, "kendall")["value"]) == pytest.approx(
        kendalltau(list(known.values()), [scores[one] for one in known]).statistic, abs=1e-6
    )
    assert (row["n"], row["groups"]) == (str(len(known)), str(len({r.group for r in source[1].rows if r.id in known})))
    assert float(row["low"]) < expected < float(row["high"])
    assert (row["alone"], row["best"], row["stale"], row["language"], row["licence"]) == ("yes", "", "", "en", "MIT")
    assert (row["date"], row["data"]) == ("2026-01-02", source[1].corpus.fingerprint)
    assert {one["kind"] for one in read_cells(folder).cells} == {"metric", "control"}


def test_ranks_and_tests_come_from_the_rows_that_all_metrics_have_scored(folder, pack, source):
    scores = good(source)
    known = [row.id for row in source[1].rows if row.level is not None]
    lacking = {one: None if one in known[:4] else score for one, score in good(source, 1, 40.0).items()}

    add(folder, pack(scores))
    add(folder, pack(lacking, metric="other"))

    level = {row.id: int(row.level) for row in source[1].rows if row.level is not None}
    ends = [one for one in known[4:] if level[one] != 1]
    both = cells(folder, "fs_ns"), cells(folder, "fs_ns", "other")
    assert [int(row["n"]) for row in both] == [len(known), len(known) - 4]
    assert {int(row["common_rows"]) for row in both} == {len(known) - 4}
    assert float(both[0]["common_value"]) == pytest.approx(
        roc_auc_score([level[one] == 2 for one in ends], [scores[one] for one in ends]), abs=1e-6
    )
    assert {row["alone"] for row in both} == {"no"}
    (test,) = [row for row in read_cells(folder).tests if row["measure"] == "fs_ns"]
    assert int(test["rows"]) == len(known) - 4
    assert both[0]["best"] == "yes"
    assert both[1]["best"] == ("no" if float(test["holm"]) <= 0.05 else "yes")


def test_a_pack_whose_language_follows_the_texts_is_the_control_itself(tmp_path, pack):
    """A metric stands once in a column, in other languages too, where a run's signature names the language."""
    rows = [{"type": "corpus", "format": "metaeval-corpus/1", "name": "own"}]
    for n in range(30):
        rows += [
            {"type": "document", "id": f"d{n}", "text": f"नदी में पानी {n % 7} है।"},
            {"type": "statement", "id": f"s{n}", "text": f"नदी में पानी बढ़ा {n}"},
            {
                "type": "citation",
                "statement": f"s{n}",
                "document": f"d{n}",
                "level": ("full", "partial", "none")[n % 3],
            },
        ]
    own = tmp_path / "own.jsonl"
    own.write_text("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "sets.yaml").write_text(
        json.dumps({"own": {"title": "Own", "dataset": "jsonl", "unit": "page", "language": "hi"}})
    )
    source = reference_sets(tmp_path)["own"].load(own)
    signed = {"metric": "overlap", "signature": "overlap@v1(language=auto,content_only=True)"}
    scores = {row.id: number % 5 / 5 for number, row in enumerate(source.rows)}
    where = pack(scores, data=source.corpus.fingerprint, **signed)
    tables = set_tables("own", reference_sets(tmp_path)["own"], source, [read_pack(where)])
    names = [row["metric"] for row in tables.cells if row["measure"] == "kendall"]
    assert names.count("overlap") == 1
    assert "overlap (control)" not in names
    of_overlap = [row for row in tables.cells if row["metric"] == "overlap"]
    assert {(row["control"], row["above_controls"]) for row in of_overlap} == {("lexical", "")}


def test_stale_packs_are_marked_and_left_out_of_ranks(folder, pack, source):
    add(folder, pack(good(source)))
    add(folder, pack(good(source, 1), metric="other"))
    old = pack(good(source, 2), metric="overlap", version="0")
    other = pack({"of other data": 1.0, **good(source, 2)}, metric="elsewhere", data="0" * 64)
    for one in (old, other):
        shutil.copytree(one, folder / "packs" / one.name)

    metaeval.results.reference(folder=folder, data=MINI)

    assert cells(folder, "fs_ns", "overlap")["stale"] == "version 0 of the metric; now 1"
    assert cells(folder, "fs_ns", "elsewhere")["stale"] == "other data"
    assert {cells(folder, "fs_ns", name)["rank_low"] for name in ("overlap", "elsewhere")} == {""}
    assert {(row["one"], row["other"]) for row in read_cells(folder).tests} == {("mine", "other")}


def test_the_same_packs_give_the_same_bytes(folder, pack, source):
    add(folder, pack(good(source)))
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    metaeval.results.reference(folder=folder, data=MINI)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_of_a_pack_that_may_not_be_shipped_only_aggregates_are_written(folder, pack, source, tmp_path):
    private = pack(good(source), metric="verdicts", licence="none stated", source="an address")

    add(folder, private)

    assert not (folder / "packs").exists()
    assert cells(folder, "fs_ns", "verdicts")["shipped"] == "no"
    before = read_cells(folder)
    shutil.copytree(pack(good(source, 1)), folder / "packs" / "mine")
    again = recompute(folder, reference_sets(folder), read_packs(folder / "packs"), MINI)
    assert again.tables == before
    assert again.kept == {"own": "it needs packs that are not shipped (verdicts): name their folder (--packs)"}
    shutil.move(private, tmp_path / "private" / "verdicts")
    metaeval.results.reference(folder=folder, data=MINI, packs=tmp_path / "private")
    assert {row["metric"] for row in read_cells(folder).cells if row["kind"] == "metric"} == {"mine", "verdicts"}


def faulty(source):
    """Packs with one fault each, and what is said of it."""
    scores = good(source)
    first = next(iter(scores))
    yield {"given": {"nobody": 1.0, **scores}}, "1 of the 323 pairs are not of the data, for example 'nobody'"
    yield {"given": scores, "text": f"pair,score,status\n{first},1,ok\n{first},1,ok\n"}, "appears twice"
    yield {"given": {first: 1.0}}, "at least 50 % are needed"
    yield {"given": {one: -score for one, score in good(source, 0, 0.1).items()}}, "direction should be -1"
    yield {"given": good(source, 0, 0.1), "direction": -1}, "direction should be 1"
    yield {"given": scores, "licence": "CC-BY-NC-4.0"}, "not what the licence CC-BY-NC-4.0 says"
    yield {"given": scores, "licence": "none"}, "cannot be shipped"
    yield {"given": scores, "data": "0" * 64}, "score again"
    yield {"given": scores, "text": f"pair,score,status,text\n{first},1,ok,words\n"}, "without texts"
    yield {"given": scores, "text": f"pair,score,status\n{first},much,ok\n"}, "much"
    yield {"given": scores, "metric": "overlap", "version": "0"}, "score again"
    yield {"given": {"w" * 201: 1.0, **scores}}, "packs hold no texts"


@pytest.mark.parametrize("number", range(12))
def test_a_fault_ends_in_a_sentence_and_nothing_is_written(number, folder, pack, source):
    given, sentence = list(faulty(source))[number]

    with pytest.raises(UserError, match=r"is not added\.") as error:
        add(folder, pack(**given))

    assert sentence in str(error.value)
    assert [path.name for path in folder.iterdir()] == ["sets.yaml"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"more": 1}, "Unknown setting 'more'"),
        ({"needs": "luck"}, "needs"),
        ({"scores": {"own": {"file": "../own.csv", "data": "0" * 64}}}, "file"),
        ({"scores": {}}, "scores"),
        ({"date": "some day"}, "date"),
    ],
)
def test_a_card_is_strict(fields, sentence, folder, pack, source):
    with pytest.raises(UserError, match=sentence):
        add(folder, pack(good(source), **fields))


def test_a_pack_of_unknown_demo_or_biased_data_is_refused(folder, pack, source):
    where = pack(good(source), scores={"owm": {"file": "own.csv", "data": "0" * 64}})
    with pytest.raises(UserError, match="Did you mean 'own'"):
        add(folder, where)
    for dataset, why in (("mini", "its labels are made up"), ("gensearch", "a biased sample")):
        (folder / "sets.yaml").write_text(json.dumps({"own": {"title": "Own", "dataset": dataset, "unit": "page"}}))
        with pytest.raises(UserError, match=f"Packs on {dataset} are not accepted: .*{why}"):
            add(folder, pack(good(source)))


def test_two_packs_of_one_metric_on_a_set_are_refused(folder, pack, source, tmp_path):
    shutil.move(pack(good(source)), tmp_path / "first")
    add(folder, tmp_path / "first")
    with pytest.raises(UserError, match="the pack first has scores of mine already"):
        add(folder, pack(good(source)))
    shutil.copytree(tmp_path / "mine", folder / "packs" / "second")
    with pytest.raises(UserError, match="own: first and second are packs of mine: delete one of them"):
        metaeval.results.reference(folder=folder, data=MINI)


def test_parquet_and_gzip_are_read(pack, source):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")

    scores = good(source)
    where = pack(scores)
    expected = read_pack(where).scores("own").answers
    (where / "own.csv").write_bytes(gzip.compress((where / "own.csv").read_bytes()))
    assert read_pack(where).scores("own").answers == expected
    table = {"pair": [*scores], "score": [*scores.values()], "status": ["ok"] * len(scores)}
    where = pack(scores, file="own.parquet")
    parquet.write_table(pytest.importorskip("pyarrow").table(table), where / "own.parquet")
    assert read_pack(where).scores("own").answers == expected

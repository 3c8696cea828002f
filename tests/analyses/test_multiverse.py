"""The multiverse: which combinations are run, that each outlook is what a run of its own gives, and the summary."""

import csv
import json
from dataclasses import replace

import pytest
from scipy.stats import f_oneway, rankdata

from metaeval import load_corpus
from metaeval.analyses.suites.choice_combinations import DEFAULT_AXES, Outlook, explore, read_axes
from metaeval.core.config import load_run
from metaeval.core.errors import UserError
from metaeval.corpus.corpus_file import write_corpus
from metaeval.report.multiverse import influences, multiverse_tables, specification, standings, swaps, write_multiverse
from metaeval.report.table_files import format_texts, tables_in
from metaeval.runs.evaluate import run

METRICS = "overlap,rouge,bm25"
AXES = ("chunk.size=60,150", "pool=own,bm25:3", "evidence.rule=touched,complete")


@pytest.fixture(scope="module")
def settings(ten_documents, tmp_path_factory):
    folder = tmp_path_factory.mktemp("multiverse")
    return {"metrics": METRICS, "dataset": "jsonl", "data": ten_documents, "results": folder}


@pytest.fixture(scope="module")
def found(settings):
    """All three protocols on ten documents over chunk sizes, units, pools and tie policies."""
    return explore(load_run(None, settings), read_axes(AXES))


def test_combinations_without_anything_to_rank_are_left_out(settings, tmp_path):
    corpus = load_corpus("jsonl", data=settings["data"])
    # One page a statement, and one chunk a page.
    cited = {citation.statement_id: citation for citation in corpus.citations}
    write_corpus(replace(corpus, citations=tuple(cited.values())), tmp_path / "lone.jsonl")
    chosen = load_run(None, {**settings, "data": tmp_path / "lone.jsonl"})

    found = explore(chosen, read_axes(["chunk.size=1500", "pool=own,bm25:3", "unit=chunk", "evidence.rule=complete"]))

    assert [(choices["protocol"], choices["pool"]) for choices, _ in found.skipped] == [("retrieval", "own")]
    pools = {(one.protocol, one.choices.get("pool")) for one in found.outlooks}
    assert pools == {("correlation", None), ("classification", None), ("retrieval", "bm25:3")}
    (choices, _), *_ = multiverse_tables(found)[-1].footer[-1].items
    assert choices.startswith("protocol=retrieval, chunk.size=1500")


def test_given_axes_take_the_place_of_their_defaults_or_stand_beside_them():
    axes = read_axes(["chunk.size=100", "aggregate=max, mean,max"])

    assert axes == {**DEFAULT_AXES, "chunk.size": ("100",), "aggregate": ("max", "mean")}


def test_each_protocol_has_the_combinations_that_make_a_difference_to_it(found):
    # Chunks: 2 sizes x 2 rules x 2 pools x 3 tie policies; citations, which have neither rule nor pool: 2 sizes x 3
    # policies. The pool and the ties are retrieval's alone: elsewhere 2 sizes x 2 rules, and 2 sizes of citations. The
    # shipped evidence is sentence indices: one threshold.
    counts = {}
    for outlook in found.outlooks:
        counts.setdefault(outlook.protocol, set()).add(specification(outlook))
    assert {protocol: len(keys) for protocol, keys in counts.items()} == {
        "correlation": 2 * 2 + 2,
        "classification": 2 * 2 + 2,
        "retrieval": 2 * 2 * 2 * 3 + 2 * 3,
    }
    assert len(found.outlooks) == 3 * (6 + 6 + 30)
    assert found.held == {"evidence.threshold": "0.5"}
    assert found.skipped == []


MEASURES = {"correlation": "spearman", "classification": "overall", "retrieval": "ndcg@5"}
COMPLETE = "chunk.size=150 evidence.rule=complete"


@pytest.mark.parametrize(
    ("protocol", "overrides", "chosen"),
    [
        ("correlation", "", f"{COMPLETE} unit=chunk"),
        ("classification", "evidence.rule=touched", "chunk.size=150 evidence.rule=touched unit=chunk"),
        ("classification", "unit=citation chunk.size=60", "chunk.size=60 unit=citation"),
        ("retrieval", "pool=bm25:3", f"{COMPLETE} pool=bm25:3 ties=expected"),
        ("retrieval", "protocol_options.retrieval.ties=worst", f"{COMPLETE} unit=chunk pool=own ties=worst"),
    ],
)
def test_an_outlook_is_what_a_run_of_its_own_gives(settings, found, protocol, overrides, chosen):
    choices = dict(choice.split("=") for choice in chosen.split())
    quick = ("interval.resamples=0", "comparison.permutations=20", "controls=false")
    (result,) = run(load_run(None, {**settings, "protocols": protocol}, [*overrides.split(), *quick])).results
    values = {row.metric: row.values[MEASURES[protocol]].value for row in result.rows if row.kind == "metric"}

    here = [o for o in found.outlooks if o.protocol == protocol and choices.items() <= o.choices.items()]

    assert {o.metric: o.value for o in here} == values
    ranks = rankdata([-value for value in values.values()], method="min")
    assert [o.rank for o in here] == list(ranks)


def test_an_axis_that_a_unit_does_not_depend_on_makes_no_combination_with_it(settings):
    config = load_run(None, {**settings, "metrics": "overlap", "protocols": "classification"})

    found = explore(config, read_axes(["unit=page,evidence", "chunk.size=60,150", "pool=own,bm25:3"]))

    said = [dict(choices) for choices in {tuple(sorted(one.choices.items())) for one in found.outlooks if one.rank}]
    by_unit = {unit: [one for one in said if one["unit"] == unit] for unit in ("page", "evidence")}
    # A page's chunks are read by metrics with an input limit; marked evidence has no chunks.
    assert sorted(one["chunk.size"] for one in by_unit["page"]) == ["150", "60"]
    assert [one.keys() & {"chunk.size", "evidence.rule"} for one in by_unit["evidence"]] == [set()]


def test_where_every_metric_has_one_value_nothing_is_ranked(settings):
    config = load_run(None, {**settings, "metrics": "rouge,rouge-1", "protocols": "classification"})

    found = explore(config, {"metric_options.rouge.variant": ("rouge1", "rougeL")})

    # With the option, both are ROUGE-1; without it, one of the two is above the other.
    ranks = {o.choices["metric_options.rouge.variant"]: [] for o in found.outlooks}
    for outlook in found.outlooks:
        ranks[outlook.choices["metric_options.rouge.variant"]].append(outlook.rank)
    assert ranks["rouge1"] == [None, None]
    assert sorted(ranks["rougeL"]) == [1, 2]
    (unranked,) = (note.text for note in multiverse_tables(found)[0].footer if note.label == "unranked")
    assert unranked.startswith("1 specification:")


def test_a_combination_that_the_data_do_not_allow_is_skipped_with_its_reason(settings, tmp_path):
    corpus = load_corpus("jsonl", data=settings["data"])
    plain = tuple(replace(citation, evidence=()) for citation in corpus.citations)
    write_corpus(replace(corpus, citations=plain), tmp_path / "plain.jsonl")
    config = load_run(None, {**settings, "data": tmp_path / "plain.jsonl", "protocols": "correlation"})

    found = explore(config, {"chunk.size": ("5",), "unit": ("chunk", "citation")})

    assert {outlook.choices["unit"] for outlook in found.outlooks} == {"citation"}
    ((choices, reason),) = found.skipped
    assert choices["unit"] == "chunk"
    assert "unit=citation" in reason
    assert multiverse_tables(found)[-1].footer[-1].text.startswith("1 combination that could not be run")
    with pytest.raises(UserError, match="No combination of choices can be run"):
        explore(config, {"chunk.size": ("5",), "unit": ("chunk",)})


def outlooks(ranks):
    """Outlooks of one protocol from {metric: {(axis value, ...): rank}} over the axes a and b; value = -rank."""
    return [
        Outlook("p", "m", dict(zip("ab", key, strict=True)), metric, None if rank is None else -float(rank), rank)
        for metric, found in ranks.items()
        for key, rank in found.items()
    ]


def test_standings_count_first_places_and_span_ranks():
    found = standings(
        outlooks({"x": {("1", "1"): 1, ("1", "2"): 1, ("2", "1"): 2}, "y": {("1", "1"): 2, ("1", "2"): 1}})
    )

    assert [tuple(one[name] for name in ("metric", "first", "specifications", "ranks", "values")) for one in found] == [
        ("x", 2, 3, (1, 2), (-2.0, -1.0)),
        ("y", 1, 2, (1, 2), (-2.0, -1.0)),
    ]


def test_a_choices_share_is_that_of_a_one_way_analysis_of_variance():
    ranks = {("1", "1"): 1, ("1", "2"): 2, ("2", "1"): 3, ("2", "2"): 3, ("3", "1"): 1, ("3", "2"): 3}

    shares = influences(outlooks({"x": ranks}))

    # Axis a: level means 1.5, 3, 2 about 13/6: between = 2 (4/9 + 25/36 + 1/36) = 7/3; total = 33 - 169/6 = 29/6.
    assert shares["a"] == pytest.approx(14 / 29, abs=1e-12)
    # Axis b: level means 5/3 and 8/3: between = 3 (1/4 + 1/4) = 3/2; 3/2 over 29/6 is 9/29. So by scipy's F too:
    # eta^2 = F (k - 1) / (F (k - 1) + n - k) with k = 2, n = 6.
    assert shares["b"] == pytest.approx(9 / 29, abs=1e-12)
    f = f_oneway([1, 3, 1], [2, 3, 3]).statistic
    assert shares["b"] == pytest.approx(f / (f + 4), abs=1e-12)


def test_no_rank_that_moves_leaves_no_share_and_a_single_value_is_no_choice():
    found = influences(outlooks({"x": {("1", "1"): 1, ("2", "1"): 1}, "y": {("1", "1"): 2, ("2", "1"): 2}}))

    assert found == {"a": None}


def test_only_pairs_that_change_places_are_swaps():
    x = {("1", "1"): 1, ("1", "2"): 1, ("2", "1"): 2}
    y = {("1", "1"): 2, ("1", "2"): 2, ("2", "1"): 1}
    z = {("1", "1"): 3, ("1", "2"): 3, ("2", "1"): None}

    found = swaps(outlooks({"x": x, "y": y, "z": z}))

    assert found == [("x", "y", 2, 1)]


def test_the_files_hold_every_outlook_and_repeat_byte_for_byte(found, recorded, tmp_path):
    first, second = write_multiverse(found, tmp_path / "a"), write_multiverse(found, tmp_path / "b")

    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    rows = list(csv.DictReader(format_texts(first[0], ["csv"])[".csv"].splitlines()))
    assert [(row["metric"], float(row["value"])) for row in rows] == [(o.metric, o.value) for o in found.outlooks]
    assert tables_in(first[0]) == multiverse_tables(found)
    assert {row["pool"] for row in rows if row["protocol"] == "correlation"} == {""}
    data = json.loads((tmp_path / "a" / "multiverse.json").read_text(encoding="utf-8"))
    assert len(data["outlooks"]) == len(found.outlooks)
    tables = {" ".join(table.key): recorded.sheet(table)[:-1] for table in multiverse_tables(found)}
    recorded.held("analyses-explored", {"summary": data["summary"], "repr": repr(found), **tables})

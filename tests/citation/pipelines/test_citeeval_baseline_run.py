"""CiteEval's baselines in a run: sheets by hand, both scenarios, bounds, rows, who labels, money, and what is refused.

Replies are made by hand and written by `recording`, then read back as a user's file is.
"""

import json

import pytest

from metaeval.citation.chat_models import recording
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import baseline_options, citeeval_options
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.pipelines.citeeval import CITEEVAL
from metaeval.citation.pipelines.run_pipeline import estimate_pipeline, prepare, run_pipeline
from metaeval.citation.readers.answer_files import gather
from metaeval.errors import UserError
from metaeval.llm.messages import read_reply
from metaeval.runs.loaded_metrics import load_metric

PASSAGES = [{"text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
ANSWERS = [
    {"id": "a1", "group": "q1", "system": "old", "text": "The Oder is 840 kilometres long [1][2]. Barges go there."},
    {"id": "a2", "group": "q2", "system": "old", "text": "Ships sail [1]."},
    {"id": "b1", "group": "q1", "system": "new", "text": "Barges carry coal [2]. It is a fine river."},
    {"id": "b2", "group": "q2", "system": "new", "text": "Rivers flow."},
]
# The choice by a word of the statement and one of the passage; what is not here comes out of form.
SUPPORT = {"840": "full", "coal": "partial"}
RELEVANCE = {("840", "kilometres"): "relevant", ("840", "Barges"): "irrelevant", ("coal", "Barges"): "relevant"}
LABELS = {("840", "kilometres"): "Attributable", ("840", "Barges"): "Extrapolatory", ("coal", "Barges"): "Attributable"}
NEEDS = {"go there": "yes", "fine": "no", "flow": "no"}

WAYS = '''
from math import log
from metaeval import Metric, MetricCard, PairScore
from metaeval.scoring.contract import ThreeWay


class Ways(Metric):
    """By words: all of the statement's in the source, some, or none."""

    card = MetricCard(
        name="ways", family="test", summary="by words", paper="none", licence="none", low=0, high=1, three_way=True
    )

    def score(self, sources, statements):
        raise AssertionError("labels come from entail")

    def entail(self, sources, statements):
        return [self._ways(source, claim) for source, claim in zip(sources, statements, strict=True)]

    def _ways(self, source, claim):
        if "Ships" in claim:
            return None
        shared = set(source.split()) & set(claim.split())
        place = 0 if shared == set(claim.split()) else 1 if shared else 2
        return ThreeWay(*(log(0.8 if own == place else 0.1) for own in range(3)))
'''


def choice(word, own, table):
    return next((value for key, value in table.items() if own(key)), word)


def ask(requests):
    return [answer(request.body) for request in requests]


def answer(body):
    text = body["messages"][0]["content"]
    kind = body["response_format"]["json_schema"]["name"]
    material = text.rpartition("never an instruction")[2]
    passages = material.rpartition("<passages>")[2] if kind != "attrscore" else material.rpartition("<reference>")[2]
    statement = material.rpartition("<claim>" if kind == "attrscore" else "<statement>")[2].partition("</")[0]
    said = {"thinking": ""}
    if kind in ("attribution", "editing"):
        ids = [n for n in (1, 2) if f'<statement id="{n}"' in material and (kind == "attribution" or n == 1)]
        own = {"context": "retrieval"} if kind == "attribution" else {"edits": [], "rating": 5}
        said = {"statements": [{"id": n, "thinking": "", **own} for n in ids]}
    elif kind == "lqac_recall":
        said["support"] = choice("much", lambda key: key in statement, SUPPORT)
    elif kind == "lqac_need":
        said["needs_citation"] = choice("perhaps", lambda key: key in statement, NEEDS)
    else:
        field, table = ("relevance", RELEVANCE) if kind == "lqac_precision" else ("label", LABELS)
        said[field] = choice("?", lambda key: key[0] in statement and key[1] in passages, table)
    done = {"message": {"content": json.dumps(said)}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return read_reply(json.dumps({"model": "tiny-2", "choices": [done], "usage": usage}))


@pytest.fixture
def rated(tmp_path, monkeypatch):
    """Write answers and replies, and run on them."""
    file, replies = tmp_path / "answers.jsonl", tmp_path / "judge.jsonl"
    (tmp_path / "my_ways.py").write_text(WAYS)
    monkeypatch.syspath_prepend(tmp_path)

    def made(*overrides, scenario="full", baselines=("lqac", "attrscore"), profile="paper", nli=(), more=()):
        file.write_text("".join(json.dumps({"passages": PASSAGES, **row}) + "\n" for row in [*ANSWERS, *more]))
        answers = gather([file])
        splits = [split_response(one, citeeval_options(profile)) for one in answers]
        evaluate(
            *(answers, splits, recording(ask, replies), Asking(model="t"), citeeval_options(profile)),
            *(("lqac", "attrscore"), baseline_options(profile)),
        )
        asked = {"files": (file,), "replay": replies, "nli": nli, "splitter": "rules", "profile": profile}
        options = CITEEVAL.options(**asked, scenario=scenario, baselines=baselines)
        settings = {"results": tmp_path / "results"}
        return run_pipeline(prepare(CITEEVAL, options, settings, ["interval.resamples=50", *overrides]))

    return made


def values(rated, name, stub):
    return {(one["system"], one[stub], one["measure"]): one for one in rated.tables[name].records}


def value(rows, *key):
    return rows[key]["value"]


def test_lqac_of_systems_by_hand(rated):
    rows = values(rated(), "lqac", "judge")
    # a1: full, one of two relevant: (R 1, P 1/2, F1 2/3); the other lacks a citation: 0. Means R 1/2, P 1/4, F1 1/3.
    # a2: neither question was answered in form: anything from 0 to 1, and supposed to be as what is known of the
    # system's cited statements and their citations: R 1, P (1 + 0) / 2, F1 2/3.
    assert value(rows, "old", "t", "recall") == (0.5 + 1) / 2
    assert value(rows, "old", "t", "precision") == (0.25 + 0.5) / 2
    assert value(rows, "old", "t", "f1") == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert rows["old", "t", "f1"]["undefined"] == 1
    assert rows["old", "t", "f1"]["least"] == pytest.approx((1 / 3 + 0) / 2)
    assert rows["old", "t", "f1"]["most"] == pytest.approx((1 / 3 + 1) / 2)
    # b1: partial and relevant (R 1/2, P 1, F1 2/3), needs none (R 1, P 0, F1 0). b2: needs none: R 1, P 0, F1 0.
    assert value(rows, "new", "t", "recall") == (0.75 + 1) / 2
    assert value(rows, "new", "t", "f1") == pytest.approx((1 / 3 + 0) / 2)
    assert rows["new", "t", "f1"]["least"] == rows["new", "t", "f1"]["most"]


def test_an_answer_that_found_none_is_a_statement_without_citations(rated):
    refusal = {"id": "c1", "group": "q1", "system": "mute", "text": "No answer was found."}
    found = rated(more=[refusal], nli=("overlap",))
    lqac = values(found, "lqac", "judge")
    assert value(lqac, "mute", "t", "recall") == 1.0
    assert value(values(found, "attrscore", "judge"), "mute", "t", "relaxed") == 0.0
    assert value(values(found, "autoais", "backend"), "mute", "overlap", "recall") == 0.0
    said = [name for name, sheet in found.tables.items() for note in sheet.footer if "found in 1 answer" in note.text]
    assert said == ["autoais", "lqac", "attrscore"]


def test_attrscore_of_systems_by_hand(rated):
    rows = values(rated(), "attrscore", "judge")
    # a1: (1 + 0) / 2 strict, (1 + 0.5) / 2 relaxed, and 0 for the other statement. a2: no label, so as a1's
    # cited statement.
    assert value(rows, "old", "t", "strict") == (0.25 + 0.5) / 2
    assert value(rows, "old", "t", "relaxed") == (0.375 + 0.75) / 2
    assert (rows["old", "t", "strict"]["least"], rows["old", "t", "strict"]["most"]) == (0.125, 0.625)
    assert value(rows, "new", "t", "strict") == (0.5 + 0) / 2
    released = values(rated(profile="released"), "attrscore", "judge")
    # As released, "anything else" is full support: a2 is 1.
    assert value(released, "old", "t", "strict") == (0.25 + 1) / 2
    asked = values(rated("otherwise=attributable"), "attrscore", "judge")
    assert value(asked, "old", "t", "strict") == (0.25 + 1) / 2


def test_in_the_scenario_of_cited_statements_both_sides_leave_the_others_out(rated):
    found = rated(scenario="cited", nli=("overlap",))
    lqac = values(found, "lqac", "judge")
    assert value(lqac, "old", "t", "recall") == 1.0  # a1's second statement is masked; a2 has no value
    assert value(lqac, "new", "t", "recall") == (0.5 + 0) / 2  # b2 has no statement with a citation: 0
    assert value(values(found, "attrscore", "judge"), "new", "t", "strict") == (1 + 0) / 2
    # All of its words are in the passage: 1 for each of the two, where the full scenario has 1/2.
    assert value(values(found, "autoais", "backend"), "new", "overlap", "recall") == (1 + 0) / 2
    for sheet in [*found.tables.values()][4:]:
        (reading,) = (note.text for note in sheet.footer if note.label == "reading")
        assert "statements without citations are left out" in reading
        # b2's context, "retrieval", says so here.
        assert reading.endswith(
            "nothing else is 0; CiteEval's own value of it is 0 only where one of its statements needs a citation"
        )


def test_a_metric_with_three_classes_labels_too(rated):
    found = rated(baselines=("attrscore", "attrscore:my_ways:Ways"))
    rows = values(found, "attrscore", "judge")
    # Words as they stand, full stop included. a1: all in 1; none in 2. b1: all. a2: it has no answer, so it is as a1's.
    assert value(rows, "old", "my_ways:Ways", "strict") == (0.25 + 0.5) / 2
    assert (
        value(rows, "old", "my_ways:Ways", "relaxed") == (0.25 + 0.5) / 2
    )  # none shared: contradictory, not extrapolatory
    assert value(rows, "new", "my_ways:Ways", "strict") == 0.25
    assert rows["old", "my_ways:Ways", "strict"]["undefined"] == 1
    statements = {(row["answer"], row["statement"]): row for row in found.rows["statements"]}
    assert statements["a1", 1]["attrscore_labels_my_ways:Ways"] == "Attributable; Contradictory"
    assert statements["a2", 1]["attrscore_labels_my_ways:Ways"] == "?"
    sheet = found.tables["attrscore"]
    assert "truncation" not in [note.label for note in sheet.footer]  # it cuts nothing
    by_model, by_metric = sheet.signatures
    assert "|prompts:attrscore@" in by_model
    assert ("my_ways:Ways@v1" in by_metric, "prompts:" in by_metric) == (True, False)
    with pytest.raises(UserError, match="AttrScore needs three classes, and 'overlap' gives one score"):
        rated(baselines=("attrscore:overlap",))
    with pytest.raises(UserError, match="Did you mean 'lqac'"):
        rated(baselines=("lqca",))


def test_the_registered_metric_gives_the_label_that_is_most_probable_to_it(rated, tiny):
    own = (f"model={tiny.folder('t5')}", "device=cpu", "max_tokens=5000")
    options = [f"metric_options.attrscore.{one}" for one in own]
    found = rated(*options, baselines=("attrscore:attrscore",))
    cells = [row["attrscore_labels_attrscore"] for row in found.rows["statements"]]
    labels = [label for cell in cells for label in cell.split("; ") if label]

    sources = [one["text"] for one in PASSAGES]
    oder, ships, coal = "The Oder is 840 kilometres long.", "Ships sail.", "Barges carry coal."
    pairs = [(sources[0], oder), (sources[1], oder), (sources[0], ships), (sources[1], coal)]
    metric = load_metric("attrscore", found.config)
    names = ("Attributable", "Extrapolatory", "Contradictory")  # as the metric's own LABELS stand
    ways = metric.entail(*zip(*pairs, strict=True))
    assert labels == [max(zip(own, names, strict=True))[1] for own in ways]
    sheet = found.tables["attrscore"]
    assert "backend:attrscore@v1" in sheet.signatures[0]
    (cut,) = [note for note in sheet.footer if note.label == "truncation"]
    assert cut.items == (
        (
            "attrscore",
            "pairs of more than 5,000 tokens may be cut; a metric that gives classes does not say how many were",
        ),
    )


CUT = '''
from metaeval import Metric, MetricCard, PairScore


class Cut(Metric):
    """Reads one token of each pair's ten."""

    card = MetricCard(
        name="cut", family="test", summary="cuts", paper="none", licence="none", low=0, high=1, neutral=0.5,
        threshold=0.5,
    )

    def score(self, sources, statements):
        return [PairScore(0.9, tokens=10, cut=9) for _ in sources]
'''


def test_what_a_metric_does_not_read_is_told_below_autoais(rated, tmp_path):
    (tmp_path / "my_cut.py").write_text(CUT)
    found = rated("store=null", baselines=(), nli=("overlap", "my_cut:Cut"))
    sheet = found.tables["autoais"]
    (cut,) = [note for note in sheet.footer if note.label == "truncation"]
    assert cut.items == (("my_cut:Cut", "100.0 % of pairs are longer than the metric reads; 90.0 % of tokens cut"),)


def test_rows_say_what_the_judge_said(rated):
    found = rated()
    rows = {(row["answer"], row["statement"]): row for row in found.rows["statements"]}
    first, lacks, lost, fine = (rows[key] for key in (("a1", 1), ("a1", 2), ("a2", 1), ("b1", 2)))
    assert (first["lqac_said"], first["lqac_relevant"], first["lqac_precision"]) == ("full", "1 0", 0.5)
    assert first["attrscore_labels_t"] == "Attributable; Extrapolatory"
    assert (lacks["lqac_said"], lacks["lqac_recall"], lacks["attrscore_strict_t"]) == ("needs a citation", 0.0, 0.0)
    assert (fine["lqac_said"], fine["lqac_recall"], fine["lqac_f1"]) == ("needs none", 1.0, 0.0)
    assert (lost["lqac_said"], lost["lqac_relevant"], lost["lqac_f1"], lost["attrscore_strict_t"]) == (
        None,
        "?",
        None,
        None,
    )
    assert (lost["lqac_f1_least"], lost["lqac_f1_most"], lost["attrscore_relaxed_most_t"]) == (0.0, 1.0, 1.0)
    answers = {row["answer"]: row for row in found.rows["answers"]}
    assert (answers["a1"]["lqac_recall"], answers["a1"]["lqac_precision"]) == (0.5, 0.25)
    assert (answers["a2"]["lqac_f1"], answers["a2"]["attrscore_strict_most_t"]) == (None, 1.0)


def test_questions_tokens_and_money_of_the_baselines_are_counted_with_the_rest(rated):
    sheet = rated("price_in=1", "price_out=2").tables["judging"]
    counted = {(one["system"], one["count"]): one["value"] for one in sheet.records}
    # old: a1 asks support, relevance twice, need; a2 support and relevance, both answered out of form.
    assert (counted["old", "lqac questions: read"], counted["old", "lqac questions: unparsed"]) == (4, 2)
    assert (counted["old", "attrscore questions: read"], counted["old", "attrscore questions: unparsed"]) == (2, 1)
    # With the four of CiteEval's own: 13 replies of 100 tokens in and 10 out.
    assert (counted["old", "tokens in"], counted["old", "tokens out"]) == (1300, 130)
    assert counted["old", "USD for these replies"] == pytest.approx((1300 * 1 + 130 * 2) / 1e6)


def test_tables_in_which_nothing_has_a_value_say_of_how_many_answers(rated, monkeypatch):
    for table in (SUPPORT, RELEVANCE, LABELS, NEEDS):
        for key in list(table):
            monkeypatch.delitem(table, key)
    found = dict(rated(nli=("overlap",)).tables.items())
    assert found["lqac"].headings == ("recall", "precision", "F1", "answers")
    assert found["attrscore"].headings == ("strict", "relaxed", "answers")
    shown = {line.name: [cell.number for cell in line.cells] for line in found["lqac"].blocks[0].lines}
    # b2 cites nothing: its precision and F1 are 0, which says nothing of b1, of whose citations nobody knows anything.
    assert shown == {"old": ["–", "–", "–", "0 of 2"], "new": ["–", "–", "–", "0 to 1 of 2"]}
    # An uncited statement is 0 whatever the labels; b2 has no other.
    assert {line.name: line.cells[-1].number for line in found["attrscore"].lines} == {"old": "0 of 2", "new": "1 of 2"}
    assert [cell.number for cell in found["autoais"].lines[0].cells][-1] == "2 of 2"


def test_below_autoais_stands_why_it_is_not_alces(rated):
    found = dict(rated(nli=("overlap",)).tables.items())
    why = "not ALCE's: a statement without citations is 0 in both, and a response is the mean over its statements"
    assert {name for name, grid in found.items() if why in str(grid.footer)} == {"autoais"}
    titles = ("AutoAIS of the same statements (%)", "LQAC of the same statements (%)")
    assert (found["autoais"].title, found["lqac"].title) == titles


def test_the_baselines_change_nothing_of_citeevals_own_table(rated):
    (alone, _), (beside, *_) = ([*rated(baselines=names).tables.values()][:2] for names in ((), ("lqac", "attrscore")))
    assert (alone.records, alone.settings, alone) == (beside.records, beside.settings, beside)


def test_every_choice_of_a_baseline_is_in_its_signature(rated):
    sheets = rated("baseline_max_tokens=1024").tables
    (statements,) = sheets["lqac"].signatures
    assert "|baseline:lqac|" in statements
    assert all(f"lqac_{kind}@" in statements for kind in ("recall", "need", "precision"))
    assert "max_tokens=1024" in statements
    assert "otherwise:missing" in sheets["attrscore"].signatures[0]
    notes = {note.label: note for note in sheets["lqac"].footer}
    assert notes["could be"].items[0] == (
        "old, t",
        "recall 25.0 to 75.0, precision 12.5 to 62.5, F1 16.7 to 66.7 (judgements are missing in up to 1 of 2 answers)",
    )
    assert notes["could be"].text.endswith("missing values are as the known ones of their kind in the same system")
    judged = {note.label: note for note in sheets["attrscore"].footer}["judged"].items
    assert judged == (
        ("t", "as the chat model says; a reply with none of the three: missing; 1 citation got none of the three"),
    )


def test_an_estimate_counts_every_request_and_sends_nothing(rated, tmp_path, monkeypatch):
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rated()
    asked = {"files": (tmp_path / "answers.jsonl",), "splitter": "rules", "model": "t"}

    def said(*baselines):
        options = CITEEVAL.options(**asked, baselines=baselines)
        return estimate_pipeline(prepare(CITEEVAL, options, {}, ["max_tokens=100"]))

    # CiteEval: contexts of four answers, edits of three. LQAC: 3 of support, 4 of relevance, 3 of need. AttrScore: 4.
    assert said().startswith("7 requests to ask, 0 replies already stored")
    assert "at most 700 out" in said()
    assert said("lqac").startswith("17 requests to ask")
    assert said("lqac", "attrscore").startswith("21 requests to ask")
    assert f"at most {7 * 100 + 14 * 1024:,} out" in said("lqac", "attrscore")

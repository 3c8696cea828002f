"""CiteEval from a file of replies to numbers of systems: on paper, by scenario, with bounds, rows, money and baselines.

Replies are made by hand and written by `recording`, then read back as a user's file is.
"""

import json

import pytest

import metaeval
from metaeval.citation.chat_models import recording
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import PAPER, PROFILES
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.readers.answer_files import gather
from metaeval.core.errors import UserError
from metaeval.llm.messages import read_reply

PASSAGES = [{"text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
ANSWERS = [
    {"id": "a1", "group": "q1", "system": "old", "text": "The Oder is 840 kilometres long [1]. Barges sing [2]."},
    {"id": "a2", "group": "q2", "system": "old", "text": "Ships sail [1]. Barges go there."},
    {"id": "b1", "group": "q1", "system": "new", "text": "Barges carry coal [2]. It is a fine river."},
    {"id": "b2", "group": "q2", "system": "new", "text": "No answer was found."},
]
DELETED = {"action": "delete", "citation": 2, "reason": "misleading"}
INVENTED = {"action": "add", "citation": 9, "reason": "evidence"}
# By answer: contexts of the statements, and (number, edits, rating) of those that are judged.
SAID = {
    "840": (["retrieval", "retrieval"], [(1, [], 5), (2, [DELETED], 3)]),
    "Ships": (["retrieval", "retrieval"], [(8, [], 5)]),  # the first statement is skipped, an eighth invented
    "coal": (["retrieval", "model"], [(1, [INVENTED], 4)]),
}
DELETE_1 = 0.06935712 - 0.010901728784493359  # of the released coefficients: the only citation goes as misleading


def message(text, tokens=(100, 10)):
    """The reply of a model with this text."""
    usage = dict(zip(("prompt_tokens", "completion_tokens"), tokens, strict=True)) if tokens else None
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return read_reply(json.dumps({"model": "tiny-2", "choices": [choice], "usage": usage}))


def said(body):
    """What the judge says as `SAID` has it; the answer is told by a word of its statements."""
    text = body["messages"][0]["content"]
    own = text[text.rindex("</passages>") :]
    contexts, reviews = next(said for word, said in SAID.items() if word in own)
    if "cites=" in own:
        return [{"id": n, "thinking": "", "edits": e, "rating": r} for n, e, r in reviews]
    return [{"id": n, "thinking": "", "context": c} for n, c in enumerate(contexts, start=1)]


@pytest.fixture
def cite(tmp_path):
    """Write answers and the replies of a model to them, and run on them."""
    file, replies = tmp_path / "answers.jsonl", tmp_path / "judge.jsonl"

    def made(rows=ANSWERS, ask=None, tokens=(100, 10), mode="edits", asked=(), **options):
        file.write_text("".join(json.dumps({"passages": PASSAGES, **row}) + "\n" for row in rows))
        ask = ask or (lambda body: json.dumps({"statements": said(body)}))
        profile, answers = PROFILES.get(options.get("profile"), PAPER), gather([file])
        splits = [split_response(one, profile) for one in answers]
        kept = recording(lambda requests: [message(ask(one.body), tokens) for one in requests], replies)
        evaluate(answers, splits, kept, Asking(model="t", mode=mode), profile, asked)
        more = {"mode": mode} if mode != "edits" else {}
        settings = {"results": tmp_path / "results", "splitter": "rules", "interval": {"resamples": 200, "fewest": 2}}
        return metaeval.cite.citeeval(file, replay=replies, **{**settings, **more, **options})

    return made


def of(found, name="citeeval"):
    """The records of a table, by system, judge and measure."""
    return {(one["system"], one["backend"], one["measure"]): one for one in found[name]}


def counted(found):
    return {(one["system"], one["count"]): one["value"] for one in found["judging"]}


def every(found):
    return [*found.values(), *found.rows.values()]


def notes(found, label):
    return [(note.text, note.items) for note in found.notes if note.label == label]


def test_scores_of_systems_on_paper(cite, hold):
    result = cite()
    hold("citeeval-systems", every(result))
    found = of(result)
    old = found["old", "t", "rating"]
    # a1: (1 + (3 - 1) / 4) / 2 = 0.75. a2: its cited statement was skipped, the uncited one lacks a citation: 0.
    assert old["value"] == (0.75 + 0) / 2
    assert 0.0 <= old["low"] < 0.375 < old["high"] <= 1.0
    # The skipped one is anything from 0 to 1: a2 from 0 to 0.5.
    assert (old["worst"], old["best"]) == (0.75 / 2, (0.75 + 0.5) / 2)
    assert found["old", "t", "edits"]["value"] == pytest.approx(((1 + DELETE_1) / 2 + 0) / 2)
    assert found["old", "t", "auto"]["value"] == pytest.approx(((1 + (0.5 + DELETE_1) / 2) / 2 + 0) / 2)
    # b1: 4 stars, and an edit that cannot be; its other statement needs no citation. b2 says that it has no answer.
    new = {key: found["new", "t", key]["value"] for key in ("rating", "edits", "auto", "answers")}
    assert new == {"rating": 0.75, "edits": None, "auto": None, "answers": 0}
    assert found["old", "t", "answers"]["value"] == 2
    # New less old: b1 0.75 (b2 has no value) and 0.75, 0.
    (rating,) = [one for one in result["citeeval-differences"] if one["measure"] == "rating"]
    assert [rating[name] for name in ("first", "second", "difference")] == ["new", "old", 0.75 - 0.75 / 2]
    # a2 has only its skipped statement left, which is missing: no value. The mean is a1's.
    result = cite(scenario="cited", statements_per_request=5)
    hold("citeeval-systems-cited", every(result))
    found, (line,) = of(result), result.signatures
    assert (found["old", "t", "rating"]["value"], found["old", "t", "answers"]["value"]) == (0.75, 1)
    choices = ("|profile:paper|", "statements_per_request=5", ",part@", "|model:t|", "|answered_as:tiny-2|")
    assert [choice for choice in choices if choice not in line] == []


def test_the_statements_of_a_published_file_are_rated_as_they_were_cut(cite):
    cut = [{"id": 1, "sentence": "Barges carry coal. So. 1. Much.", "citations": [2]}]
    row = {"sample_idx": "s", "query": "q", "prediction": "Barges.", "prediction_sentences_and_citations": cut}
    found = cite([row])
    (row,) = found["citeeval-omission"]
    assert (row["omission"], row["words"], of(found)["answers", "t", "rating"]["value"]) == (0, 6, 0.75)
    assert "|splitter:as published|" in found.signatures[0]


def test_what_could_not_be_judged_is_counted_and_listed(cite):
    found = cite()
    counts = counted(found)
    assert [counts["old", f"problems: {name}"] for name in ("not judged", "no such statement")] == [1, 1]
    assert [counts["new", name] for name in ("edits: no such passage", "responses without an answer")] == [1, 1]
    assert [counts["old", "questions: read"], counts["new", "questions: not asked"]] == [4, 2]
    assert found["judging"].headings[-3:] == ("tokens in", "tokens out", "USD for these replies")
    ((_, items),) = notes(found, "not judged")
    assert items[0][1].startswith("no judgement 2 (of 4 answers); first: a2, statement 1: Ships sail.")
    ((_, items),) = notes(found, "could be")
    assert items == (("t", "new CiteEval-Auto 0.370 to 0.875; old CiteEval-Auto 0.318 to 0.570"),)
    # Without a2, whose statement was skipped, and b1, whose edit cannot be, everything was judged.
    assert notes(cite(rows=[ANSWERS[0], ANSWERS[3]]), "could be") == []


def test_marks_that_cite_nothing_are_told_by_kind_and_place(cite, hold):
    texts = ["[1]\n[0]", "It is fine [0]. So it is [7] [1b].", "No answer was found. Not much [2] is mentioned."]
    rows = [{"id": f"a{n}", "text": text} for n, text in enumerate(texts, start=1)]
    found = cite(rows, lambda body: "no JSON", profile="released")
    hold("citeeval-marks", every(found))
    counts = {name: number for (_, name), number in counted(found).items() if name.startswith("marks")}
    assert counts == {"marks: of no statement": 2, "marks: unparsable": 1, "marks: zero": 2}
    ((text, _),) = notes(found, "marks")
    assert text == (
        "cite nothing: of no statement 2, unparsable 1, zero 2 (first: a1, offset 0; a1, offset 4; a2, offset 11)"
    )


def test_tokens_and_money_are_those_of_the_replies(cite):
    chat = {"price_in": 0.5, "price_out": 1.5}
    priced = counted(cite(chat=chat))
    assert (priced["old", "tokens in"], priced["new", "tokens out"]) == (400, 20)
    # Four replies of 100 tokens in and 10 out: (400 * 0.5 + 40 * 1.5) / 1e6.
    assert priced["old", "USD for these replies"] == pytest.approx(260e-6)
    assert counted(cite())["old", "USD for these replies"] is None
    silent = counted(cite(chat=chat, tokens=None))
    assert (silent["old", "replies without a count of tokens"], silent["old", "USD for these replies"]) == (4, None)


def test_rows_say_what_the_judge_said(cite):
    found = cite()
    rows = {(row["answer"], row["statement"]): row for row in found.rows["statements"]}
    first, deleted, skipped, lacks = (rows[key] for key in (("a1", 1), ("a1", 2), ("a2", 1), ("a2", 2)))
    names = ("context", "stars", "edits", "rating", "state")
    assert [tuple(row[name] for name in names) for row in (first, deleted, skipped, lacks)] == [
        ("retrieval", 5, "", 1.0, "rated"),
        ("retrieval", 3, "DELETE_1:2", 0.5, "rated"),
        ("retrieval", None, None, None, "missing"),
        ("retrieval", None, None, 0.0, "lacks a citation"),
    ]
    assert (first["citations"], ANSWERS[0]["text"][deleted["start"] : deleted["end"]]) == ("1", "Barges sing [2].")
    answers = {row["answer"]: row for row in found.rows["answers"]}
    assert (answers["a2"]["statements_missing"], answers["a2"]["problems"]) == (1, "no such statement 1; not judged 1")
    assert (answers["b2"]["auto"], answers["b2"]["no_answer"], answers["b2"]["tokens_in"]) == (None, True, 0)


@pytest.mark.parametrize("mode", ["cot", "vanilla"])
@pytest.mark.parametrize("profile", ["paper", "released"])
def test_a_judge_without_edits_gives_ratings_and_nothing_else(cite, hold, mode, profile):
    """The ablations of the paper: IterCoT (reasoning, then a rating) and Vanilla (a rating)."""
    forms = []

    def rate(body):
        forms.append(json.dumps(body["response_format"]))
        entries = said(body)
        for entry in entries:
            entry.pop("edits", None)
            if mode == "vanilla" and "rating" in entry:
                del entry["thinking"]
        return json.dumps({"statements": entries})

    found = cite(ask=rate, mode=mode, profile=profile)
    hold(f"citeeval-{mode}-{profile}", every(found))
    assert not any('"edits"' in form for form in forms)
    assert sum("thinking" in form for form in forms) == {"cot": len(forms), "vanilla": len(forms) - 3}[mode]
    assert {one["measure"] for one in found["citeeval"]} == {"rating", "answers"}
    # As with edits: a1 0.75, and a2, whose skipped statement is missing by the paper and 1 as released: 0 or 1/2. The
    # released code joins a1's short second sentence with the first, whose five stars are 1.
    assert of(found)["old", "t", "rating"]["value"] == {"paper": 0.75 / 2, "released": (1 + 0.5) / 2}[profile]
    assert f"mode={mode}" in found.signatures[0]
    row = found.rows["statements"].records[0]
    assert (row["rating"], row["rating_least"], "auto" in row, "edit_distance" in row) == (1.0, 1.0, False, False)


def test_omission_is_of_the_statements_that_need_a_citation(cite):
    found = cite()
    omitted = {one["system"]: one for one in found["citeeval-omission"]}
    # a1: 0 of 2; a2: its second statement rests on the passages and cites nothing, 1 of 2. b1: the second needs none,
    # 0 of 1; b2 has none that needs one, and is left out.
    # Words: a1 6 + 2, a2 2 + 3, b1 3 + 5, b2 4 ("No answer was found.").
    shown = {name: [one[key] for key in ("omission", "answers", "words")] for name, one in omitted.items()}
    assert shown == {"old": [0.25, 2, 6.5], "new": [0.0, 1, 6.0], "all": [pytest.approx(0.5 / 3), 3, 6.25]}
    # Over a1, a2, b1: words 8, 5, 8 and omission 0, 1/2, 0.
    assert omitted["all"]["pearson"] == pytest.approx(-1.0)
    # Of all four, as analyze_annotation.py has it: statements 2, 2, 2, 1, shares of cited ones 1, 1/2, 1/2, 0.
    assert omitted["all"]["length_cited"] == pytest.approx(0.5 / 0.375**0.5)
    rows = {row["answer"]: (row["words"], row["omission_rate"]) for row in found.rows["answers"]}
    assert rows == {"a1": (8, 0.0), "a2": (5, 0.5), "b1": (8, 0.0), "b2": (4, None)}


def test_quality_is_compared_with_the_retrieval_where_gold_sources_are_known(cite, hold):
    assert "citeeval-retrieval" not in cite()
    passages = [{**PASSAGES[0], "source": "d1"}, {**PASSAGES[1], "source": "d2"}]
    gold = {"a1": ["d1", "d2"], "a2": ["d1", "d9"], "b1": ["d2"]}
    rows = [{**row, "passages": passages, "reference": {"gold_sources": gold.get(row["id"])}} for row in ANSWERS[:3]]
    found = cite(rows=rows, profile="released")
    hold("citeeval-retrieval", every(found))
    found = found["citeeval-retrieval"]
    old = {one["retrieval"]: one for one in found if one["system"] == "old"}
    # Of d1, d2 both and of d1, d9 one are there: recall 1 and 1/2; of two passages two and one are gold.
    assert (old["recall"]["mean"], old["precision"]["mean"], old["recall"]["answers"]) == (0.75, 0.75, 2)
    # a1 is better than a2, and its recall higher.
    assert old["recall"]["pearson"] == pytest.approx(1.0)
    wrong = [{**ANSWERS[0], "reference": {"gold_sources": "d1"}}]
    with pytest.raises(UserError, match='gold_sources is "d1"; allowed: a list of ids of sources'):
        cite(rows=wrong)


# Baselines: the choice by a word of the statement and one of the passage; what is not here comes out of form.

COMPARED = [
    {"id": "a1", "group": "q1", "system": "old", "text": "The Oder is 840 kilometres long [1][2]. Barges go there."},
    {"id": "a2", "group": "q2", "system": "old", "text": "Ships sail [1]."},
    {"id": "b1", "group": "q1", "system": "new", "text": "Barges carry coal [2]. It is a fine river."},
    {"id": "b2", "group": "q2", "system": "new", "text": "Rivers flow."},
]
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
        words = [(set(source.split()), set(claim.split())) for source, claim in zip(sources, statements, strict=True)]
        return [None if "Ships" in claim else ways(source, claim) for source, claim in words]


def ways(source, claim):
    place = 0 if claim <= source else 1 if claim & source else 2
    return ThreeWay(*(log(0.8 if own == place else 0.1) for own in range(3)))
'''


def choice(word, own, table):
    return next((value for key, value in table.items() if own(key)), word)


BOTH = ("lqac", "attrscore")


def by_word(body):
    text = body["messages"][0]["content"]
    kind = body["response_format"]["json_schema"]["name"]
    material = text.rpartition("never an instruction")[2]
    passages = material.rpartition("<passages>")[2] if kind != "attrscore" else material.rpartition("<reference>")[2]
    statement = material.rpartition("<claim>" if kind == "attrscore" else "<statement>")[2].partition("</")[0]
    words = {"thinking": ""}
    if kind in ("attribution", "editing"):
        ids = [n for n in (1, 2) if f'<statement id="{n}"' in material and (kind == "attribution" or n == 1)]
        own = {"context": "retrieval"} if kind == "attribution" else {"edits": [], "rating": 5}
        words = {"statements": [{"id": n, "thinking": "", **own} for n in ids]}
    elif kind == "lqac_recall":
        words["support"] = choice("much", lambda key: key in statement, SUPPORT)
    elif kind == "lqac_need":
        words["needs_citation"] = choice("perhaps", lambda key: key in statement, NEEDS)
    else:
        field, table = ("relevance", RELEVANCE) if kind == "lqac_precision" else ("label", LABELS)
        words[field] = choice("?", lambda key: key[0] in statement and key[1] in passages, table)
    return json.dumps(words)


@pytest.fixture
def compared(cite, tmp_path, monkeypatch):
    """Run with baselines."""
    (tmp_path / "my_ways.py").write_text(WAYS)
    monkeypatch.syspath_prepend(tmp_path)

    def made(baselines=BOTH, more=(), **options):
        return cite([*COMPARED, *more], by_word, asked=BOTH, baselines=list(baselines), **options)

    return made


def values(found, name):
    """The records of a baseline, by system, judge and measure."""
    return {(system, judge, key.removeprefix(f"{name}_")): one for (system, judge, key), one in of(found, name).items()}


def value(rows, *key):
    return rows[key]["value"]


def test_lqac_of_systems_by_hand(compared):
    rows = values(compared(), "lqac")
    # a1: full, one of two relevant: (R 1, P 1/2, F1 2/3); the other lacks a citation: 0. Means R 1/2, P 1/4, F1 1/3.
    # a2: neither question was answered in form: anything from 0 to 1, and supposed to be as what is known of the
    # system's cited statements and their citations: R 1, P (1 + 0) / 2, F1 2/3.
    old = {"recall": (0.5 + 1) / 2, "precision": (0.25 + 0.5) / 2, "f1": (1 / 3 + 2 / 3) / 2, "answers": 1}
    assert {key: value(rows, "old", "t", key) for key in old} == pytest.approx(old)
    ends = [rows["old", "t", "f1"][end] for end in ("worst", "best")]
    assert ends == pytest.approx([(1 / 3 + 0) / 2, (1 / 3 + 1) / 2])
    # b1: partial and relevant (R 1/2, P 1, F1 2/3), needs none (R 1, P 0, F1 0). b2: needs none: R 1, P 0, F1 0.
    new = [value(rows, "new", "t", "recall"), value(rows, "new", "t", "f1"), rows["new", "t", "f1"]["worst"]]
    assert new == [(0.75 + 1) / 2, pytest.approx((1 / 3 + 0) / 2), None]


def test_attrscore_of_systems_by_hand(compared):
    rows = values(compared(), "attrscore")
    # a1: (1 + 0) / 2 strict, (1 + 0.5) / 2 relaxed, and 0 for the other statement. a2: no label, so as a1's
    # cited statement.
    strict = rows["old", "t", "strict"]
    assert [strict[name] for name in ("value", "worst", "best")] == [(0.25 + 0.5) / 2, 0.125, 0.625]
    assert value(rows, "old", "t", "relaxed") == (0.375 + 0.75) / 2
    assert value(rows, "new", "t", "strict") == (0.5 + 0) / 2
    # As released, "anything else" is full support: a2 is 1.
    assert value(values(compared(profile="released"), "attrscore"), "old", "t", "strict") == (0.25 + 1) / 2


def test_in_the_scenario_of_cited_statements_both_sides_leave_the_others_out(compared, hold):
    found = compared(scenario="cited", nli="overlap")
    hold("citeeval-baselines-cited", every(found))
    # a1's second statement is masked; a2 has no value; b2 has no statement with a citation: 0.
    assert [value(values(found, "lqac"), name, "t", "recall") for name in ("old", "new")] == [1.0, (0.5 + 0) / 2]
    assert value(values(found, "attrscore"), "new", "t", "strict") == (1 + 0) / 2
    # All of its words are in the passage: 1 for each of the two, where the full scenario has 1/2.
    assert value(values(found, "autoais"), "new", "overlap", "recall") == (1 + 0) / 2
    readings = [text for text, _ in notes(found, "reading") if "statements without citations are left out" in text]
    assert len(readings) == 2  # of AutoAIS, which says more, and of the others


def test_a_metric_with_three_classes_labels_too(compared, hold):
    found = compared(baselines=("attrscore", "attrscore:my_ways:Ways"))
    hold("citeeval-labels", every(found))
    rows = values(found, "attrscore")
    # Words as they stand, full stop included. a1: all in 1; none in 2. b1: all. a2: it has no answer, so it is as a1's.
    # None shared: contradictory, not extrapolatory.
    shown = [value(rows, "old", "my_ways:Ways", key) for key in ("strict", "relaxed", "answers")]
    assert shown == [(0.25 + 0.5) / 2, (0.25 + 0.5) / 2, 1]
    assert value(rows, "new", "my_ways:Ways", "strict") == 0.25
    labels = {
        (row["answer"], row["statement"]): row["attrscore_labels_my_ways:Ways"] for row in found.rows["statements"]
    }
    assert (labels["a1", 1], labels["a2", 1]) == ("Attributable; Contradictory", "?")
    assert notes(found, "input limits") == []  # it cuts nothing
    _, by_model, by_metric = found.signatures
    assert ("prompts:attrscore@" in by_model, "my_ways:Ways@v1" in by_metric, "prompts:" in by_metric) == (1, 1, 0)
    with pytest.raises(UserError, match="'overlap' gives one score"):
        compared(baselines=("attrscore:overlap",))
    with pytest.raises(UserError, match="Did you mean 'lqac'"):
        compared(baselines=("lqca",))


def test_autoais_judges_the_same_statements(cite):
    found = cite(nli=["overlap", "overlap"])
    rows = values(found, "autoais")
    # Content words. a1: all of the first are in its passage; of "Barges sing" one of two, below 0.63. a2: "Ships
    # sail" in none, the other cites nothing. b1: its first holds, the second cites nothing; b2 cites nothing.
    assert [value(rows, system, "overlap", "recall") for system in ("old", "new")] == [(0.5 + 0) / 2] * 2
    statements = {(row["answer"], row["statement"]): row["autoais_f1_overlap"] for row in found.rows["statements"]}
    assert [statements[key] for key in (("a1", 1), ("a1", 2), ("a2", 2), ("b1", 1))] == [1, 0, 0, 1]
    assert {row["answer"]: row["autoais_recall_overlap"] for row in found.rows["answers"]}["b1"] == 0.5
    told = [name for name, sheet in found.items() for note in sheet.footer if "found in 1 answer" in note.text]
    assert told == ["autoais"]
    assert any(text.startswith("not ALCE's: a statement without citations is 0") for text, _ in notes(found, "reading"))
    with pytest.raises(UserError, match="AutoAIS needs decisions"):
        cite(nli="overlap", threshold="soft")


def test_rows_say_what_the_judges_of_baselines_said(compared, hold):
    found = compared(chat={"price_in": 1, "price_out": 2})
    hold("citeeval-baselines", every(found))
    # old: a1 asks support, relevance twice, need; a2 support and relevance, both answered out of form. With the four of
    # CiteEval's own: 13 replies of 100 tokens in and 10 out.
    expected = {"lqac questions: read": 4, "lqac questions: unparsed": 2, "tokens in": 1300, "tokens out": 130}
    assert {name: counted(found)["old", name] for name in expected} == expected
    rows = {(row["answer"], row["statement"]): row for row in found.rows["statements"]}
    first, lacks, lost, fine = (rows[key] for key in (("a1", 1), ("a1", 2), ("a2", 1), ("b1", 2)))
    assert (first["lqac_said"], first["lqac_relevant"], first["lqac_precision"]) == ("full", "1 0", 0.5)
    assert first["attrscore_labels_t"] == "Attributable; Extrapolatory"
    assert (lacks["lqac_said"], lacks["lqac_recall"], lacks["attrscore_strict_t"]) == ("needs a citation", 0.0, 0.0)
    assert (fine["lqac_said"], fine["lqac_recall"], fine["lqac_f1"]) == ("needs none", 1.0, 0.0)
    ends = ("lqac_said", "lqac_f1", "attrscore_strict_t", "lqac_f1_least", "lqac_f1_most", "attrscore_relaxed_most_t")
    assert [lost[name] for name in ends] == [None, None, None, 0.0, 1.0, 1.0]
    one, other = [row for row in found.rows["answers"] if row["system"] == "old"]
    assert (one["lqac_recall"], one["lqac_precision"]) == (0.5, 0.25)
    assert (other["lqac_f1"], other["attrscore_strict_most_t"]) == (None, 1.0)


def test_every_choice_of_a_baseline_is_in_its_signature_and_its_bounds_below(compared):
    found = compared()
    alone = compared(baselines=())
    assert [*found["citeeval"]] == [*alone["citeeval"]]  # baselines change nothing of CiteEval's own table
    _, lqac, labels = found.signatures
    choices = ("|baseline:lqac|", "lqac_recall@", "lqac_need@", "lqac_precision@", "max_tokens=1024")
    assert [choice for choice in choices if choice not in lqac] == []
    assert "|baseline:attrscore|" in labels
    ((_, items),) = notes(found, "could be")
    assert [text for _, text in items] == [
        "old LQAC of the same statements: F1 16.7 to 66.7",
        "old AttrScore of the same statements: strict 12.5 to 62.5",
    ]
    assert notes(found, "labels") == [("", (("t", "1 citation got none of the three"),))]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"scenario": "cites"}, "'full' or 'cited'"),
        ({"profile": "relaesed"}, "Did you mean 'released'"),
        ({"chat": {"output": "text"}}, "attribution asks for JSON"),
        ({"chat": {"extra": {"messages": []}}}, "extra may not set messages"),
        ({"model": "other"}, "holds no reply to 6 of 6 requests"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(cite, options, says):
    with pytest.raises(UserError, match=says):
        cite(**options)

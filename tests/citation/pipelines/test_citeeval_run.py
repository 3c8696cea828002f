"""CiteEval from a file of replies to numbers of systems: on paper, by scenario, with bounds, rows, money and baselines.

Replies are made by hand and written by `recording`, then read back as a user's file is.
"""

import json
from contextlib import nullcontext

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
    repaired = {"ask": lambda body: f"So: {json.dumps({'statements': said(body)})}"}
    result = cite(**repaired, scenario="cited", statements_per_request=5)
    hold("citeeval-systems-cited", every(result))
    # a2 has only its skipped statement left, which is missing: no value. The mean is a1's.
    assert of(result)["old", "t", "rating"]["value"] == 0.75


def test_the_statements_of_a_published_file_are_rated_as_they_were_cut(cite):
    cut = [{"id": 1, "sentence": "Barges carry coal. So. 1. Much.", "citations": [2]}]
    row = {"sample_idx": "s", "query": "q", "prediction": "Barges.", "prediction_sentences_and_citations": cut}
    found = cite([row])
    (row,) = found["citeeval-omission"]
    assert (row["omission"], row["words"], of(found)["answers", "t", "rating"]["value"]) == (0, 6, 0.75)
    assert "|splitter:as published|" in found.signatures[0]


def test_where_everything_was_judged_nothing_could_be_otherwise(cite):
    # Without a2, whose statement was skipped, and b1, whose edit cannot be, everything was judged.
    assert notes(cite(), "could be") != notes(cite(rows=[ANSWERS[0], ANSWERS[3]]), "could be") == []


def test_marks_that_cite_nothing_are_told_by_kind_and_place(cite, hold):
    texts = ["[1]\n[0]", "It is fine [0]. So it is [7] [1b].", "No answer was found. Not much [2] is mentioned."]
    rows = [{"id": f"a{n}", "text": text} for n, text in enumerate(texts, start=1)]
    found = cite(rows, lambda body: "no JSON", profile="released")
    hold("citeeval-marks", every(found))


def test_tokens_and_money_are_those_of_the_replies(cite):
    chat = {"price_in": 0.5, "price_out": 1.5}
    priced = counted(cite(chat=chat))
    assert (priced["old", "tokens in"], priced["new", "tokens out"]) == (400, 20)
    # Four replies of 100 tokens in and 10 out: (400 * 0.5 + 40 * 1.5) / 1e6.
    assert priced["old", "USD for these replies"] == pytest.approx(260e-6)
    assert counted(cite())["old", "USD for these replies"] is None
    silent = counted(cite(chat=chat, tokens=None))
    assert (silent["old", "replies without a count of tokens"], silent["old", "USD for these replies"]) == (4, None)


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
    # As with edits: a1 0.75, and a2, whose skipped statement is missing by the paper and 1 as released: 0 or 1/2. The
    # released code joins a1's short second sentence with the first, whose five stars are 1.
    assert of(found)["old", "t", "rating"]["value"] == {"paper": 0.75 / 2, "released": (1 + 0.5) / 2}[profile]


def test_quality_is_compared_with_the_retrieval_where_gold_sources_are_known(cite, hold):
    assert "citeeval-retrieval" not in cite()
    passages = [{**PASSAGES[0], "source": "d1"}, {**PASSAGES[1], "source": "d2"}]
    gold = {"a1": ["d1", "d2"], "a2": ["d1", "d9"], "b1": ["d2"]}
    rows = [{**row, "passages": passages, "reference": {"gold_sources": gold.get(row["id"])}} for row in ANSWERS[:3]]
    found = cite(rows=rows, profile="released")
    hold("citeeval-retrieval", every(found))
    wrong = [{**ANSWERS[0], "reference": {"gold_sources": "d1"}}]
    with pytest.raises(UserError, match='gold_sources is "d1"; allowed: a list of ids of sources'):
        cite(rows=wrong, dry_run=True)


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
        name="ways", family="test", summary="by words", paper="none", licence="none", low=0, high=1, three_way=True,
        input_limit=1200,
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


def test_as_released_anything_else_is_full_support(compared):
    # a1: (1 + 0) / 2 and 0 for the other statement; a2, whose label is none of the three, is 1.
    assert value(values(compared(profile="released"), "attrscore"), "old", "t", "strict") == (0.25 + 1) / 2


def test_in_the_scenario_of_cited_statements_both_sides_leave_the_others_out(compared, hold):
    found = compared(scenario="cited", nli="overlap")
    hold("citeeval-baselines-cited", every(found))


def test_a_metric_with_three_classes_labels_too(compared, hold, monkeypatch):
    told, name = [], "metaeval.report.notebook.notebook_progress"
    monkeypatch.setattr(name, lambda: nullcontext(lambda *own: told.append(own)))
    found = compared(baselines=("attrscore", "attrscore:my_ways:Ways"))
    assert [own for own in told if own[0] == "my_ways:Ways"] == [("my_ways:Ways", 4, 4)]
    hold("citeeval-labels", every(found))
    with pytest.raises(UserError, match="'overlap' gives one score"):
        compared(baselines=("attrscore:overlap",))
    with pytest.raises(UserError, match="Did you mean 'lqac'"):
        compared(baselines=("lqca",))


def test_autoais_judges_the_same_statements(cite, hold):
    found = cite(nli=["overlap", "overlap"])
    hold("citeeval-autoais", [found["autoais"], found.rows["statements"]])
    told = {name: note.text for name, sheet in found.items() for note in sheet.footer if "in 1 answer" in note.text}
    assert {name: "needs none" in text for name, text in told.items()} == {"autoais": False}
    with pytest.raises(UserError, match="AutoAIS needs decisions"):
        cite(nli="overlap", threshold="soft")


def test_rows_say_what_the_judges_of_baselines_said(compared, hold):
    found = compared(chat={"price_in": 1, "price_out": 2})
    hold("citeeval-baselines", every(found))


def test_baselines_change_nothing_of_the_own_tables(compared):
    found = compared()
    alone = compared(baselines=())
    assert [*found["citeeval"]] == [*alone["citeeval"]]


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

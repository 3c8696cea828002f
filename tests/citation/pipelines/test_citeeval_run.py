"""CiteEval from a file of replies to numbers of systems: on paper, by scenario, with bounds, rows, money and AutoAIS.

Replies are made by hand and written by `recording`, then read back as a user's file is.
"""

import json

import pytest

from metaeval.citation.chat_models import recording
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import citeeval_options
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.pipelines.citeeval import CITEEVAL, OWNERS
from metaeval.citation.pipelines.improve import IMPROVE
from metaeval.citation.pipelines.pipeline import sort_settings
from metaeval.citation.pipelines.run_pipeline import prepare, run_pipeline
from metaeval.citation.readers.answer_files import gather
from metaeval.errors import UserError
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


def ask(requests, tokens=(100, 10)):
    """Answer as `SAID` has it; the answer is told by a word of its statements."""
    replies = []
    for request in requests:
        text = request.body["messages"][0]["content"]
        own = text[text.rindex("</passages>") :]
        contexts, reviews = next(said for word, said in SAID.items() if word in own)
        if "cites=" in own:
            entries = [{"id": n, "thinking": "", "edits": e, "rating": r} for n, e, r in reviews]
        else:
            entries = [{"id": n, "thinking": "", "context": c} for n, c in enumerate(contexts, start=1)]
        choice = {"message": {"content": json.dumps({"statements": entries})}, "finish_reason": "stop"}
        usage = dict(zip(("prompt_tokens", "completion_tokens"), tokens, strict=True)) if tokens else None
        replies.append(read_reply(json.dumps({"model": "tiny-2", "choices": [choice], "usage": usage})))
    return replies


def judged(asked, results, overrides=()):
    return run_pipeline(prepare(CITEEVAL, CITEEVAL.options(**asked), {"results": results / "results"}, overrides))


@pytest.fixture
def rated(tmp_path):
    """Write answers and replies, and run on them."""
    file, replies = tmp_path / "answers.jsonl", tmp_path / "judge.jsonl"

    def made(*overrides, scenario="full", nli=(), tokens=(100, 10), profile="paper", rows=ANSWERS):
        file.write_text("".join(json.dumps({"passages": PASSAGES, **row}) + "\n" for row in rows))
        options = citeeval_options(profile)
        answers = gather([file])
        splits = [split_response(one, options) for one in answers]
        kept = recording(lambda requests: ask(requests, tokens), replies)
        evaluate(answers, splits, kept, Asking(model="t"), options)
        asked = {"files": (file,), "replay": replies, "nli": nli, "splitter": "rules", "profile": profile}
        settings = ["interval.resamples=200", "interval.fewest=2", *overrides]
        return judged({**asked, "scenario": scenario}, tmp_path, settings)

    return made


def records(rated, name="citeeval"):
    return rated.tables[name].records


def of(rated, system, measure):
    return next(one for one in records(rated) if (one["system"], one["measure"]) == (system, measure))


def test_scores_of_systems_on_paper(rated):
    found = rated()
    old = of(found, "old", "rating")
    # a1: (1 + (3 - 1) / 4) / 2 = 0.75. a2: its cited statement was skipped, the uncited one lacks a citation: 0.
    assert old["value"] == (0.75 + 0) / 2
    assert 0.0 <= old["low"] < 0.375 < old["high"] <= 1.0
    assert old["answers"] == 2
    # The skipped one is anything from 0 to 1: a2 from 0 to 0.5.
    assert (old["least"], old["most"]) == (0.75 / 2, (0.75 + 0.5) / 2)
    assert of(found, "old", "edits")["value"] == pytest.approx(((1 + DELETE_1) / 2 + 0) / 2)
    assert of(found, "old", "auto")["value"] == pytest.approx(((1 + (0.5 + DELETE_1) / 2) / 2 + 0) / 2)
    # b1: 4 stars, and an edit that cannot be; its other statement needs no citation. b2 says that it has no answer.
    assert (of(found, "new", "rating")["value"], of(found, "new", "rating")["undefined"]) == (0.75, 1)
    assert (of(found, "new", "edits")["value"], of(found, "new", "auto")["value"]) == (None, None)


def test_the_scenario_of_cited_statements_leaves_the_others_out(rated):
    found = rated(scenario="cited")
    # a2 has only its skipped statement left, which is missing: no value. The mean is a1's.
    assert of(found, "old", "rating")["value"] == 0.75
    assert of(found, "old", "rating")["undefined"] == 1
    with pytest.raises(UserError, match="Did you mean 'cited'"):
        rated(scenario="cites")


def test_the_options_reach_the_numbers_and_the_signature(rated):
    found = rated("bad_edits=as it stands")
    # KEEP and an addition worth 0, mean of the two, plus the intercept.
    assert of(found, "new", "edits")["value"] == pytest.approx(1.00298631 / 2 - 0.010901728784493359)
    (line,) = found.tables["citeeval"].signatures
    assert "options:bad_edits=as it stands|" in line
    assert "|model:t|answered_as:tiny-2|prompts:attribution@" in line


def test_judging_in_parts_is_in_the_signature_and_nowhere_without(rated):
    (line,) = rated("statements_per_request=5").tables["citeeval"].signatures
    assert ("statements_per_request=5" in line, ",part@" in line) == (True, True)
    (line,) = rated().tables["citeeval"].signatures
    assert ("statements_per_request" in line, "part@" in line) == (False, False)


def test_what_could_not_be_judged_is_counted_by_system(rated):
    counted = {(one["system"], one["count"]): one["value"] for one in records(rated(), "judging")}
    assert counted["old", "problems: not judged"] == 1
    assert counted["old", "problems: no such statement"] == 1
    assert counted["new", "edits: no such passage"] == 1
    assert counted["new", "responses without an answer"] == 1
    assert (counted["old", "questions: read"], counted["new", "questions: not asked"]) == (4, 2)


def grid(rated, name):
    return rated.tables[name]


def test_the_least_and_the_most_are_shown_where_something_is_missing(rated):
    found = rated()
    assert grid(found, "citeeval").title.endswith(", from 0 to 1")
    assert [block.title for block in grid(found, "citeeval").blocks] == ["", "least to most"]
    # Without a2, whose statement was skipped, and b1, whose edit cannot be, everything was judged.
    whole = rated(rows=[ANSWERS[0], ANSWERS[3]])
    assert [block.title for block in grid(whole, "citeeval").blocks] == [""]
    assert "least to most" not in str(grid(whole, "citeeval").footer)


def test_the_counts_of_a_system_are_one_row_and_those_that_are_0_everywhere_are_left_out(rated):
    found = grid(rated(), "judging")
    assert [line.name for line in found.lines] == ["new", "old"]
    shown = {
        line.name: dict(zip(found.headings, (cell.number for cell in line.cells), strict=True)) for line in found.lines
    }
    # Two questions of each of the answers but b2; it alone says that it found no answer.
    assert (shown["old"]["questions: read"], shown["new"]["questions: read"]) == ("4", "2")
    assert (shown["old"]["responses without an answer"], shown["new"]["responses without an answer"]) == ("0", "1")
    assert "replies without a count of tokens" not in found.headings
    assert found.headings[-3:] == ("tokens in", "tokens out", "USD for these replies")


def test_marks_that_cite_nothing_are_told_by_kind_and_place(tmp_path):
    texts = ["[1]\n[0]", "It is fine [0]. So it is [7] [1b].", "No answer was found [2]. Not much is mentioned."]
    file, replies = tmp_path / "answers.jsonl", tmp_path / "judge.jsonl"
    rows = [{"id": f"a{n}", "text": text, "passages": PASSAGES} for n, text in enumerate(texts, start=1)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def silent(requests):
        choice = {"message": {"content": "no JSON"}, "finish_reason": "stop"}
        return [read_reply(json.dumps({"choices": [choice]}))] * len(requests)

    options = citeeval_options(no_answer="anywhere")
    answers = gather([file])
    splits = [split_response(one, options) for one in answers]
    evaluate(answers, splits, recording(silent, replies), Asking(model="t"), options)
    asked = {"files": (file,), "replay": replies, "splitter": "rules"}
    found = judged(asked, tmp_path, ["interval.resamples=0", "no_answer=anywhere"])
    counted = {one["count"]: one["value"] for one in records(found, "judging") if one["count"].startswith("marks")}
    assert counted == {"marks: of no statement": 2, "marks: out of range": 1, "marks: unparsable": 1, "marks: zero": 2}
    notes = {note.label: note.text for note in found.tables["citeeval"].footer}
    assert notes["marks"] == (
        "cite nothing: of no statement 2, out of range 1, unparsable 1, zero 2 "
        "(first: a1, offset 0; a1, offset 4; a2, offset 11)"
    )


def test_tokens_and_money_are_those_of_the_replies(rated):
    def counted(found):
        return {(one["system"], one["count"]): one["value"] for one in records(found, "judging")}

    priced = counted(rated("price_in=0.5", "price_out=1.5"))
    assert (priced["old", "tokens in"], priced["new", "tokens out"]) == (400, 20)
    # Four replies of 100 tokens in and 10 out: (400 * 0.5 + 40 * 1.5) / 1e6.
    assert priced["old", "USD for these replies"] == pytest.approx(260e-6)
    assert counted(rated())["old", "USD for these replies"] is None
    silent = counted(rated("price_in=0.5", "price_out=1.5", tokens=None))
    assert (silent["old", "replies without a count of tokens"], silent["old", "USD for these replies"]) == (4, None)


def test_autoais_judges_the_same_statements(rated, tmp_path):
    found = rated(nli=("overlap", "overlap"))
    values = {(one["system"], one["measure"]): one["value"] for one in records(found, "autoais")}
    # Content words. a1: all of the first are in its passage; of "Barges sing" one of two, below 0.63. a2: "Ships
    # sail" in none, the other cites nothing. b1: its first holds, the second cites nothing; b2 cites nothing.
    assert (values["old", "recall"], values["new", "recall"]) == ((0.5 + 0) / 2, (0.5 + 0) / 2)
    rows = {(row["answer"], row["statement"]): row for row in found.rows["statements"]}
    assert [rows[key]["autoais_f1_overlap"] for key in (("a1", 1), ("a1", 2), ("a2", 2), ("b1", 1))] == [1, 0, 0, 1]
    assert {row["answer"]: row["autoais_recall_overlap"] for row in found.rows["answers"]}["b1"] == 0.5
    with pytest.raises(UserError, match="AutoAIS needs decisions"):
        judged({"files": (tmp_path / "answers.jsonl",), "nli": "overlap", "threshold": "soft", "model": "t"}, tmp_path)


def test_rows_say_what_the_judge_said(rated):
    rows = {(row["answer"], row["statement"]): row for row in rated().rows["statements"]}
    first, deleted, skipped, lacks = (rows[key] for key in (("a1", 1), ("a1", 2), ("a2", 1), ("a2", 2)))
    assert (first["citations"], first["context"], first["stars"], first["edits"]) == ("1", "retrieval", 5, "")
    assert (deleted["edits"], deleted["rating"], deleted["state"]) == ("DELETE_1:2", 0.5, "rated")
    assert ANSWERS[0]["text"][deleted["start"] : deleted["end"]] == "Barges sing [2]."
    assert (skipped["edits"], skipped["stars"], skipped["auto"], skipped["state"]) == (None, None, None, "missing")
    assert (lacks["auto"], lacks["state"]) == (0.0, "lacks a citation")
    answers = {row["answer"]: row for row in rated().rows["answers"]}
    assert (answers["a2"]["statements_missing"], answers["a2"]["problems"]) == (1, "no such statement 1; not judged 1")
    assert (answers["b2"]["auto"], answers["b2"]["no_answer"], answers["b2"]["tokens_in"]) == (None, True, 0)


@pytest.mark.parametrize("mode", ["cot", "vanilla"])
@pytest.mark.parametrize("profile", ["paper", "released"])
def test_a_judge_without_edits_gives_ratings_and_nothing_else(tmp_path, mode, profile):
    """The ablations of the paper: IterCoT (reasoning, then a rating) and Vanilla (a rating)."""
    file, replies, asked = tmp_path / "answers.jsonl", tmp_path / "judge.jsonl", []
    file.write_text("".join(json.dumps({"passages": PASSAGES, **row}) + "\n" for row in ANSWERS))

    def rate(requests):
        found = []
        for request in requests:
            asked.append(request.body)
            body = json.loads(ask([request])[0].content)
            for entry in body["statements"]:
                entry.pop("edits", None)
                if mode == "vanilla" and "rating" in entry:
                    del entry["thinking"]
            choice = {"message": {"content": json.dumps(body)}, "finish_reason": "stop"}
            found.append(read_reply(json.dumps({"model": "tiny-2", "choices": [choice]})))
        return found

    options, answers = citeeval_options(profile), gather([file])
    splits = [split_response(one, options) for one in answers]
    evaluate(answers, splits, recording(rate, replies), Asking(model="t", mode=mode), options)
    forms = [json.dumps(body["response_format"]) for body in asked]
    assert not any('"edits"' in form for form in forms)
    assert sum("thinking" in form for form in forms) == {"cot": len(forms), "vanilla": len(forms) - 3}[mode]
    given = {"files": (file,), "replay": replies, "splitter": "rules", "profile": profile}
    found = judged(given, tmp_path, [f"mode={mode}", "interval.resamples=50"])
    assert {one["measure"] for one in records(found)} == {"rating"}
    # As with edits: a1 0.75, and a2, whose skipped statement is missing by the paper and 1 as released: 0 or 1/2. The
    # released code joins a1's short second sentence with the first, whose five stars are 1.
    assert of(found, "old", "rating")["value"] == {"paper": 0.75 / 2, "released": (1 + 0.5) / 2}[profile]
    (line,) = found.tables["citeeval"].signatures
    assert f"mode={mode}" in line
    row = found.rows["statements"].records[0]
    assert (row["rating"], row["rating_least"], "auto" in row, "edit_distance" in row) == (1.0, 1.0, False, False)
    improving = IMPROVE.options(files=(file,), output=tmp_path / "o.jsonl", replay=replies)
    run = prepare(IMPROVE, improving, {"results": tmp_path}, ["mode=vanilla"])
    with pytest.raises(UserError, match=r"'cite improve' needs the judge's edits, .* set mode=edits\."):
        run_pipeline(run)


def test_systems_differ_on_the_same_questions(rated):
    (rating,) = [one for one in records(rated(), "citeeval-differences") if one["measure"] == "rating"]
    # Sorted: new less old. New: b1 0.75 (b2 has no value); old: 0.75 and 0.
    assert (rating["first"], rating["second"]) == ("new", "old")
    assert rating["difference"] == 0.75 - 0.75 / 2
    same = rated(rows=[*ANSWERS[:2], *({**row, "id": f"c{n}", "system": "copy"} for n, row in enumerate(ANSWERS[:2]))])
    for one in records(same, "citeeval-differences"):
        assert (one["difference"], one["difference_low"], one["difference_high"]) in ((0, 0, 0), (0, None, None))


def test_omission_is_of_the_statements_that_need_a_citation(rated):
    found = rated()
    omitted = {one["system"]: one for one in records(found, "citeeval-omission")}
    # a1: 0 of 2; a2: its second statement rests on the passages and cites nothing, 1 of 2. b1: the second needs none,
    # 0 of 1; b2 has none that needs one, and is left out.
    assert (omitted["old"]["omission"], omitted["old"]["answers"]) == (0.25, 2)
    assert (omitted["new"]["omission"], omitted["new"]["answers"]) == (0.0, 1)
    assert omitted["all"]["omission"] == pytest.approx(0.5 / 3)
    # Words: a1 6 + 2, a2 2 + 3, b1 3 + 5, b2 4 ("No answer was found.").
    assert (omitted["old"]["words"], omitted["new"]["words"], omitted["all"]["words"]) == (6.5, 6.0, 6.25)
    # Over a1, a2, b1: words 8, 5, 8 and omission 0, 1/2, 0.
    assert omitted["all"]["pearson"] == pytest.approx(-1.0)
    rows = {row["answer"]: (row["words"], row["omission_rate"]) for row in found.rows["answers"].records}
    assert rows == {"a1": (8, 0.0), "a2": (5, 0.5), "b1": (8, 0.0), "b2": (4, None)}


def test_quality_is_compared_with_the_retrieval_where_gold_sources_are_known(rated):
    assert "citeeval-retrieval" not in rated().tables
    passages = [{**PASSAGES[0], "source": "d1"}, {**PASSAGES[1], "source": "d2"}]
    gold = {"a1": ["d1", "d2"], "a2": ["d1", "d9"], "b1": ["d2"]}
    rows = [{**row, "passages": passages, "reference": {"gold_sources": gold.get(row["id"])}} for row in ANSWERS[:3]]
    found = records(rated("missing_rating=full marks", "missing_edits=none", rows=rows), "citeeval-retrieval")
    old = {one["retrieval"]: one for one in found if one["system"] == "old"}
    # Of d1, d2 both and of d1, d9 one are there: recall 1 and 1/2; of two passages two and one are gold.
    assert (old["recall"]["mean"], old["precision"]["mean"], old["recall"]["answers"]) == (0.75, 0.75, 2)
    # a1 is better than a2, and its recall higher.
    assert old["recall"]["pearson"] == pytest.approx(1.0)
    wrong = [{**ANSWERS[0], "reference": {"gold_sources": "d1"}}]
    with pytest.raises(UserError, match='gold_sources is "d1"; allowed: a list of ids of sources'):
        rated(rows=wrong)


def test_settings_are_told_apart_and_checked():
    settings = ["merge_below=3", "output=json", "price_in=1", "interval.seed=3", "highest=null"]
    given, of_run = sort_settings(settings, OWNERS)
    assert given["options"] == {"merge_below": 3, "highest": None}
    assert given["asking"] == {"output": "json"}
    assert (given["chat"], of_run) == ({"price_in": 1}, ["interval.seed=3"])


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("hihgest=1", "Unknown setting 'hihgest'. Did you mean 'highest'?"),
        ("highest=much", "highest should be a valid integer"),
        ("merge_below=-1", "merge_below is -1; allowed: a whole number from 0"),
        ("output=xml", "output should be 'json_schema', 'json' or 'tags'"),
        ("output=tags", "The built-in prompt of attribution asks for JSON, not for tags"),
        ("extra={", "not YAML"),
        ("extra={messages: []}", "extra may not set messages, which metaeval sets itself: leave it out of extra"),
        ("extra={stop: x, seed: 3, model: y}", "extra may not set model, seed"),
        ("price_in=-1", "price_in should be greater than or equal to 0"),
        ("interval.resamples=-1", "interval.resamples"),
        ("model=other", "holds no reply to 6 of 6 requests"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(rated, override, says):
    with pytest.raises(UserError) as error:
        rated(override)
    assert says in str(error.value)
    assert str(error.value).count("\n") == 0

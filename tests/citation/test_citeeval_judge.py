"""The whole pipeline: what is asked, once, and what becomes of every kind of reply."""

import json
import re

import pytest

pytest.importorskip("aiohttp", reason="needs the extra 'llm'")

from metaeval.citation.citeeval.evaluate_responses import bounds, counts
from metaeval.citation.citeeval.evaluate_responses import evaluate as evaluate_splits
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.options_and_values import PAPER
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import Answer, Passage
from metaeval.llm.budget import Purse
from metaeval.llm.chat_client import ChatSession
from metaeval.llm.endpoint import Endpoint, EndpointOptions, Prices
from metaeval.llm.reply_store import ReplyStore

PASSAGES = (
    Passage("The Oder is 840 kilometres long.", "Oder"),
    Passage("The Oder crosses three countries.", "Course"),
    Passage("Barges carry <coal> & ore.", 'Trade "by water"'),
)
# A judge by rule. Context: retrieval if the statement shares a word of five letters with a passage, else model.
# A citation that shares none is deleted as misleading; three stars for each statement with such a one, else five.
WORD = re.compile(r"[a-z]{5,}")
PASSAGE = re.compile(r'<passage id="(\d+)">(.*?)</passage>', re.DOTALL)
STATEMENT = re.compile(r'<statement id="(\d+)"(?: cites="([\d ]*)")?>(.*?)</statement>', re.DOTALL)


def words(text):
    return set(WORD.findall(text.lower()))


def by_rule(body):
    prompt = body["messages"][-1]["content"]
    material = prompt[prompt.rindex("<passages>") :]
    passages = {int(number): words(text) for number, text in PASSAGE.findall(material)}
    entries = []
    for number, cites, text in STATEMENT.findall(material):
        entry = {"id": int(number), "thinking": "by rule"}
        if 'cites="' not in material:
            shared = any(words(text) & own for own in passages.values())
            entries.append({**entry, "context": "retrieval" if shared else "model"})
        elif cites:
            wrong = [int(one) for one in cites.split() if not words(text) & passages[int(one)]]
            edits = [{"action": "delete", "citation": one, "reason": "misleading"} for one in wrong]
            entries.append({**entry, "edits": edits, "rating": 3 if wrong else 5})
    return json.dumps({"statements": entries})


@pytest.fixture
def session(tmp_path, own_environment):
    """Make a session on the test's own reply store."""
    made = []

    def make(url, prices=None, budget=None, **options):
        purse = Purse(Prices(*prices) if prices else None, budget)
        endpoint = Endpoint(url, "tiny", "OPENAI_API_KEY", "")
        settings = EndpointOptions(**{"backoff": 0.01, "timeout": 20.0, "concurrency": 8, **options})
        made.append(ChatSession(endpoint, settings, ReplyStore(tmp_path / "replies.sqlite"), purse))
        return made[-1]

    yield make
    for one in made:
        one.close()


def response(text, name="a", group=""):
    return Answer(name, text, PASSAGES, "How long is the Oder?", group=group)


FOUR = response("The Oder is 840 kilometres long [1][3]. It crosses countries [2]. Barges go there. I am sure.")


def evaluate(answers, ask, asking, options=PAPER):
    splits = [split_response(one, options) for one in answers]
    return evaluate_splits(answers, splits, ask, asking, options).results


def values(result, scenario="full"):
    return {measure: result.values[measure, scenario].value for measure in ("rating", "edits", "auto")}


def test_a_response_from_text_to_numbers(fake, session):
    with fake.ChatServer(answer=by_rule) as server:
        (result,) = evaluate([FOUR], session(server.url).ask, Asking(model="tiny"))
    assert [(one.context, one.stars, one.edits and [edit.name for edit in one.edits]) for one in result.statements] == [
        ("retrieval", 3, ["DELETE_1"]),  # [3] says nothing of length
        ("retrieval", 5, ()),
        ("retrieval", None, None),  # barges: in the passages, and uncited
        ("model", None, None),
    ]
    # Ratings (3 - 1) / 4 = 0.5, 1, 0 for the missing citation, none for what the model knows: 1.5 / 3.
    # Edits: (1.00298631 + 0.06935712) / 2 - 0.01090173 = 0.52526999; 1; 0.
    assert values(result) == pytest.approx({"rating": 0.5, "edits": 1.52526999 / 3, "auto": (0.5 + 1.52526999 / 3) / 2})
    assert values(result, "cited") == pytest.approx({"rating": 0.75, "edits": 0.762634993, "auto": 0.756317496})
    assert counts([result]) == {"questions: read": 2}
    assert server.attempts.total() == 2  # one for the contexts, one for the edits


CONTEXTS_OF_FOUR = [{"id": n, "thinking": "", "context": "retrieval"} for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("reply", "state", "problems", "stars"),
    [
        ("I would rate this highly.", "unparsed", {}, {}),
        ({"finish_reason": "length"}, "unparsed", {}, {}),
        ({"message": {"role": "assistant", "content": None, "refusal": "I cannot"}}, "unparsed", {}, {}),
        ([{"id": 1, "thinking": "", "edits": [], "rating": 4}], "read", {"not judged": 1}, {1: 4}),
        (
            [{"id": 1, "thinking": "", "edits": [], "rating": 9}, {"id": 8, "thinking": "", "edits": [], "rating": 4}],
            "read",
            {"not judged": 2, "out of schema": 1, "no such statement": 1},
            {},
        ),
    ],
)
def test_replies_that_say_too_little_leave_values_missing_counted_and_bounded(
    fake, session, reply, state, problems, stars
):
    def answer(body):
        if 'cites="' not in body["messages"][0]["content"]:
            return json.dumps({"statements": CONTEXTS_OF_FOUR})
        if isinstance(reply, dict):
            return fake.completion('{"statements": []}', **reply)
        return reply if isinstance(reply, str) else json.dumps({"statements": reply})

    with fake.ChatServer(answer=answer) as server:
        (result,) = evaluate([FOUR], session(server.url).ask, Asking(model="tiny"))
    assert (result.judged.attribution, result.judged.editing) == ("read", state)
    assert result.judged.problems == problems
    assert {one.statement.number: one.stars for one in result.statements if one.stars} == stars
    rating = result.values["rating", "full"]
    # Two uncited statements that need a citation are 0; each missing one is anything from 0 to 1.
    known = [(star - 1) / 4 for star in stars.values()]
    missing = 2 - len(known)
    assert (rating.rated, rating.missing) == (2 + len(known), missing)
    assert rating.value == pytest.approx(sum(known) / (2 + len(known)))
    assert (rating.least, rating.most) == pytest.approx((sum(known) / 4, (sum(known) + missing) / 4))
    assert counts([result])["statements missing a value"] == missing
    assert bounds([result, result], "rating") == (rating.least, rating.most)
    assert bounds([], "rating") == (None, None)


def test_replies_in_tags_give_the_same_numbers_as_json(fake, session, tmp_path):
    own = tmp_path / "own.txt"
    own.write_text("<passages>\n{passages}\n</passages>{query}{statements}", encoding="utf-8")

    def in_tags(body):
        entries = json.loads(by_rule(body))["statements"]
        numbers = {"query": 1, "retrieval": 2, "response": 3, "model": 4}
        lines = []
        for entry in entries:
            where = f'sentence_id="{entry["id"]}"'
            if "context" in entry:
                lines.append(f"<attribution {where}> {numbers[entry['context']]} </attribution>")
            else:
                edits = "".join(
                    f'<DELETE citation="{e["citation"]}"> DELETE REASON 1 </DELETE>' for e in entry["edits"]
                )
                lines.append(f"<editing {where}>{edits or ' N/A '}</editing><rating {where}>{entry['rating']}</rating>")
        return "\n".join(lines)

    with fake.ChatServer(answer=by_rule) as server:
        (as_json,) = evaluate([FOUR], session(server.url).ask, Asking(model="tiny"))
    with fake.ChatServer(answer=in_tags) as server:
        asking = Asking(model="tiny", output="tags", attribution_file=own, editing_file=own)
        (as_tags,) = evaluate([FOUR], session(server.url).ask, asking)
    assert as_tags == as_json
    with fake.ChatServer(answer=by_rule) as server:
        (wrong,) = evaluate([FOUR], session(server.url).ask, asking)  # JSON where tags were asked for
    assert (wrong.judged.attribution, wrong.judged.editing) == ("unparsed", "unparsed")

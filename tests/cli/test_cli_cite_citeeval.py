"""`metaeval cite citeeval` as it is typed: asked of a server with faults, recorded, replayed, and what is refused."""

import json

import pytest

from metaeval.explorer.shown_answers import show_answers
from tests.cli.samples import write_lines

pytest.importorskip("openai", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

PASSAGES = [{"title": "Oder", "text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
QUICK = "-s interval.resamples=30 -s chat.backoff=0.01 -s chat.price_in=0.5 -s chat.price_out=1.5".split()


def judge(body):
    """Every statement rests on the passages; of two citations the second goes, with 3 stars."""
    if 'cites="' not in body["messages"][0]["content"].rpartition("</passages>")[2]:
        entries = [{"id": n, "thinking": "", "context": "retrieval"} for n in (1, 2)]
    else:
        edits = [{"action": "delete", "citation": 2, "reason": "misleading"}]
        entries = [{"id": 1, "thinking": "", "edits": edits, "rating": 3}]
    return json.dumps({"statements": entries})


def judge_all(body):
    """That judge, and the one of the baselines; to the first question's answers alone a label comes in form."""
    kind = body["response_format"]["json_schema"]["name"]
    if kind in ("attribution", "editing"):
        return judge(body)
    claim = body["messages"][0]["content"].rpartition("<claim>")[2].partition("</claim>")[0]
    field, word = {
        "lqac_recall": ("support", "partial"),
        "lqac_need": ("needs_citation", "no"),
        "lqac_precision": ("relevance", "relevant"),
        "attrscore": ("label", "Extrapolatory" if "840" in claim else "Unsure"),
    }[kind]
    return json.dumps({"thinking": "", field: word})


@pytest.fixture
def answers(answers_of_systems, tmp_path):
    """Answers of systems to the same questions: the first statement has a right citation, the other one none."""
    text = "The Oder is 84{group} kilometres long [1][2]. Barges of {system} sail."
    items = answers_of_systems(2, 5, "Question {group}?", PASSAGES, text)
    return write_lines(tmp_path / "answers.jsonl", items)


def test_the_budget_ends_a_run_in_one_sentence(refused, fake, answers, tmp_path):
    with fake.ChatServer(answer=judge) as server:
        said = refused(
            *("cite", "citeeval", answers, "--model", "tiny", "--base-url", server.url),
            *("--budget", "0.001", "--record", tmp_path / "judge.jsonl", *QUICK),
        )
        assert server.attempts.total() == 0  # 4,096 tokens out at $1.5 a million are more than that
    assert said.startswith("The budget of $0.0010 is not enough for one more request")
    assert not (tmp_path / "judge.jsonl").exists()


BESIDE = ("--baselines", "lqac,attrscore", "--nli", "overlap")


def test_baselines_are_asked_in_the_same_run(asked, contents, fake, answers, tmp_path, caplog):
    words = ("cite", "citeeval", answers, *BESIDE, *QUICK)
    ended, server = asked(judge_all, *words, faults=0.3, kinds=fake.QUICK_FAULTS, seed=3)
    # Of each of ten answers contexts, edits, and the need of a citation; of each of five questions, whose two
    # answers have the same first statement: support, relevance twice, two labels. 3 * 10 + 5 * 5.
    assert (len(server.completed), set(server.completed.values())) == (55, {1})
    assert "55 replies asked for" in caplog.text
    assert "asking tiny: 80 of 80 replies" in ended.err  # eight requests of each answer, the equal ones too
    shown = show_answers((tmp_path / "results" / "latest").resolve(), None, 3)["answers"]
    assert [len(answer["replies"]) for answer in shown] == [8] * 3
    first = contents(tmp_path / "results" / "latest")
    assert {f"{name}.json" for name in ("citeeval", "judging", "autoais", "lqac", "attrscore")} <= set(first)
    records = json.loads(first["citeeval.json"])["records"]
    values = {(record["system"], record["measure"]): record["value"] for record in records}
    # Of each answer: (3 - 1) / 4 = 0.5 and 0 for the statement without a citation; edits KEEP and DELETE_1 with the
    # released coefficients: (1.00298631 + 0.06935712) / 2 - 0.01090173 = 0.52526999, and 0.
    assert (values["system 1", "rating"], "0.250" in ended.out) == (0.25, True)
    assert values["system 1", "edits"] == pytest.approx(0.52526999 / 2, abs=1e-8)
    records = json.loads(first["lqac.json"])["records"]
    lqac = {(one["system"], one["measure"]): one["value"] for one in records}
    # Cited: support partial, both relevant (R 1/2, P 1, F1 2/3); the other needs no citation (R 1, P 0, F1 0).
    assert lqac["system 0", "lqac_recall"] == 0.75
    assert lqac["system 0", "lqac_f1"] == pytest.approx(1 / 3)
    # One of each system's five answers has labels: each citation 0 if strict, 1/2 if relaxed; the other statement 0.
    found = {(one["system"], one["measure"]): one for one in json.loads(first["attrscore.json"])["records"]}
    strict, relaxed = (found["system 0", f"attrscore_{mode}"] for mode in ("strict", "relaxed"))
    assert (strict["value"], relaxed["value"]) == (0.0, 0.25)
    assert found["system 0", "attrscore_answers"]["value"] == 1
    # Four answers are from 0 to 1/2: (1/4 + 0 * 4) / 5 to (1/4 + 4 * 1/2) / 5.
    assert (relaxed["worst"], relaxed["best"]) == (0.05, 0.45)

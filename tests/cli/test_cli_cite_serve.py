"""The pipelines against `transformers serve`, a server that is not ours, whose tiny model always says the same."""

import pytest

from tests.cli.samples import lines_of, write_lines

pytest.importorskip("openai", reason="needs the extra 'llm'")

PASSAGES = [{"text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
QUICK = ("-s", "interval.resamples=30", "-s", "chat.backoff=0.01", "-s", "chat.output=json", "-s", "chat.top_p=null")
FACTS = '{"facts": ["The Oder is long."]}'
REVIEWS = '{"statements": [{"id": 1, "thinking": "ok", "edits": [], "rating": 4}]}'


@pytest.fixture(scope="module")
def served(tiny_chat, tmp_path_factory):
    """The base address of a server, and its models by what they say."""
    folder = tmp_path_factory.mktemp("served")
    models = {"facts": FACTS, "reviews": REVIEWS}
    for name, reply in models.items():
        tiny_chat.make_model(folder / name, reply)
    with tiny_chat.running() as url:
        yield url, {name: str(folder / name) for name in models}


@pytest.fixture
def answers(tmp_path, own_environment):
    texts = ["The Oder is long [1].", "The Oder is long [2].", "The Oder is 840 kilometres [1] or miles [2] long."]
    rows = [{"id": f"a{n}", "group": f"q{n}", "text": text, "passages": PASSAGES} for n, text in enumerate(texts)]
    return write_lines(tmp_path / "answers.jsonl", rows)


def test_scifi_facts_by_a_served_model(ran, contents, served, answers, tmp_path):
    url, models = served
    kept, asked = tmp_path / "kept.jsonl", ("--model", models["facts"], "--base-url", url, "--nli", "overlap", *QUICK)
    ran("cite", "scifi", answers, *asked, "--record", kept)
    # Of three sentences two are the same without their marks. Only of the last, which has two citation groups, it is
    # asked where its fact stands, and the model gives the reply that suits the other question.
    assert len(lines_of(kept)) == 2 + 1
    facts = lines_of(tmp_path / "results" / "latest" / "per-facts-overlap.jsonl")
    assert [row["fact"] for row in facts] == ["The Oder is long."] * 3
    # Of the content words Oder and long, the first passage holds both and the second none.
    assert [row["value"] for row in facts] == [1.0, 0.0, None]
    assert [row["state"] for row in facts] == ["judged", "judged", "unjudged"]
    again = tmp_path / "again"
    replayed = ("--replay", kept, "--nli", "overlap", "--results", again, *QUICK)
    ran("cite", "scifi", answers, *replayed)
    first, second = (contents(folder / "cite" / "scifi" / "answers") for folder in (tmp_path / "results", again))
    assert first == second

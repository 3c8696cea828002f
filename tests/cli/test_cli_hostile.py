"""Hostile names through the commands: nothing that they print or write drives a terminal, a sheet or a page."""

import json

import pytest

QUICK = ("-s", "interval.resamples=20", "-s", "comparison.permutations=20")
SMALL = ("-s", "chunk.size=7")
JUDGED = ("-m", "overlap,rouge", *QUICK, *SMALL, "-p", "all")


@pytest.fixture
def seen(cli, hostile):
    """Run a command; what it prints and all that lies in the folder is clean. Its end."""

    def run(*args, code=0):
        ended = cli(*args)
        hostile.check_stream(ended.out)
        hostile.check_stream(ended.err)
        assert "Traceback" not in ended.err
        assert ended.code == code, ended.err
        return ended

    return run


def test_a_corpus_of_hostile_names(hostile, seen, cli, named_corpus, tmp_path):
    file = named_corpus(hostile.TOGETHER)
    data = ("-d", "jsonl", "--data", file)
    seen("data", "validate", file)
    seen("run", *JUDGED, *data)
    results = sorted(tmp_path.rglob("retrieval.json"))
    for form in ("terminal", "markdown", "latex"):
        seen("results", "show", results[0], "--format", form)
    sheet = cli("results", "show", results[0], "--format", "csv").out
    hostile.check_csv(sheet)
    assert "'=cmd" in sheet
    seen(
        "run", "-m", "overlap", *QUICK, "-s", "interval.seed=1", "-p", "retrieval", "--results", "other", *data, *SMALL
    )
    seen("compare", "overlap", "rouge", "--by", "system", *data, *QUICK, *SMALL)
    seen("data", "convert", "jsonl", "again.jsonl", "-s", f"data={file}")
    seen("multiverse", "-m", "overlap,rouge", "-a", "unit=chunk", "-a", "chunk.size=7,9", *data, *QUICK)
    seen("results", "list")
    for job in (tmp_path / "results").glob("*-chunk-*"):
        seen("results", "show", job.name)
    for job in (tmp_path / "results").rglob("manifest.json"):
        seen("results", "export", job.parent.relative_to(tmp_path / "results"))
    found = hostile.check_files(tmp_path / "results")
    assert {".txt", ".md", ".tex", ".csv", ".json"} <= found


@pytest.mark.slow
def test_a_suite_of_hostile_names(hostile, seen, named_corpus, tmp_path):
    data = ("-d", "jsonl", "--data", named_corpus(hostile.TOGETHER))
    seen("run", "--suite", "-m", "overlap,rouge", *data, *QUICK, *SMALL)
    seen("results", "figures")
    seen("thresholds", "--learn", "overlap", "-s", "folds=3", *data, *QUICK, *SMALL)
    folds = ("-s", "protocol_options.decision.folds=3")
    seen("thresholds", "overlap", "rouge", *folds, *data, *QUICK, *SMALL)
    seen("plan", "overlap", "rouge", *data, *QUICK, *SMALL, code=2)  # nothing to plan
    assert {".html", ".svg", ".json"} <= hostile.check_files(tmp_path / "results")


@pytest.mark.parametrize("pipeline", ["alce", "aliice", "scifi"])
def test_answers_of_hostile_names(hostile, seen, tmp_path, pipeline):
    nasty = hostile.TOGETHER + hostile.NAMES["surrogate"]
    answers = [
        {
            "id": f"{nasty}{number}",
            "group": f"{nasty}{number}",
            "system": f"{nasty}{number % 2}",
            "question": nasty,
            "text": f"The Oder is long [1]. Barges {nasty} sail [2].",
            "passages": [{"title": nasty, "text": f"The Oder is long. {nasty}"}],
        }
        for number in range(3)
    ]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in answers), encoding="utf-8")
    seen("cite", pipeline, "answers.jsonl", "--nli", "overlap", *QUICK[:2])
    seen("results", "export")
    assert {".txt", ".md", ".tex", ".csv", ".jsonl"} <= hostile.check_files(tmp_path / "results")


def test_hostile_file_names_and_words_on_the_command_line(seen, nasty):
    text = nasty.replace("/", "|").replace("\0", "0")  # which no command line can hold
    for words in (["results", "show"], ["data", "validate"], ["evaluate"], ["cite", "alce"]):
        seen(*words, f"./{text}.jsonl", code=2)
    for words in (["run", "-m", text], ["run", "-d", text], ["metrics", "show", text], ["data", "show", text]):
        seen(*words, code=2)
    seen("run", "-s", f"{text}={text}", code=2)
    seen(text if text[0] != "-" else f"x{text}", code=2)
    seen("results", "show", f"--{text}", "x", code=2)


def test_problems_of_a_file_quote_it_visibly(seen, write_corpus, small_rows, nasty):
    small_rows[1]["id"] = small_rows[2]["id"] = nasty
    small_rows[-1]["level"] = nasty
    file = write_corpus(small_rows)
    seen("data", "validate", file, code=2)
    seen("run", "-m", "overlap", "-d", "jsonl", "--data", file, code=2)


def test_a_score_file_of_a_hostile_name(hostile, seen, cli, tmp_path):
    cli("pairs", "pairs.jsonl", "-d", "mini")
    pairs = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    for number, name in enumerate(("math", "override", "formula", "clear")):
        rows = ({"pair_id": pair["pair_id"], "score": (place + number) % 7} for place, pair in enumerate(pairs))
        file = tmp_path / f"{hostile.NAMES[name].replace('/', '|')}.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        seen("evaluate", file.name, *QUICK, "-p", "retrieval", "-d", "mini")
    hostile.check_files(tmp_path / "results")


def test_a_servers_message(hostile, seen, fake, tmp_path):
    answer = {"id": "a", "question": "q", "text": "A b [1].", "passages": [{"text": "A b."}]}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(answer)}\n", encoding="utf-8")
    with fake.ChatServer(answer=lambda _: (400, {"error": {"message": f"sorry {hostile.TOGETHER}"}})) as server:
        ended = seen("cite", "citeeval", "a.jsonl", "--model", "tiny", "--base-url", server.url, code=2)
    assert "sorry =cmd" in ended.err

"""explain and diff on what the citation commands write: every field has words, and the command makes it again."""

import json
import re
import shlex

import pytest

from metaeval.analyses.explaining.signature_fields import explain, read_signature
from tests.cli.samples import reply, write_rated_answers

pytest.importorskip("aiohttp", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

QUICK = ("-s", "interval.resamples=5", "-q")
JUDGES = ("--nli", "overlap", "--threshold", "0.5")


@pytest.fixture
def answers(tmp_path):
    """Two systems' answers to three questions, as they are and with ratings of their statements by two people."""
    write_rated_answers(tmp_path)
    return tmp_path


def signatures(folder):
    """Every signature in a folder of results: of sheets, and of rows."""
    found = set()
    for path in folder.rglob("*.json"):
        data = json.loads(path.read_text(encoding="utf-8"))
        found |= {*data.get("signatures", []), *(row["signature"] for row in data.get("rows", []) if "unit" in data)}
    return found


def command_of(out):
    """The words under 'The number again:', without the program's name."""
    program, *words = shlex.split(out.partition("The number again:\n")[2].splitlines()[0])
    assert program == "metaeval"
    return words


OFFLINE = [
    ("cite", "alce", "answers.jsonl", *JUDGES, "-s", "premise=chunks", "-s", "chunk.size=9", "-s", "interval.seed=4"),
    ("cite", "aliice", "answers.jsonl", "--nli", "rouge-2", "--threshold", "soft", "--profile", "expanded"),
    ("cite", "scifi", "answers.jsonl", "--nli", "overlap"),
    (
        *("cite", "scifi", "answers.jsonl", "--nli", "overlap,rouge", "--threshold", "overlap=0.5", "-s", "window=4"),
        *("-s", "group=joint", "-s", "tie=before", "-s", "titles=false", "-s", "styles={lists: false}"),
        *("-s", "leading=move first", "-s", "metric_options.rouge.stem=true", "-s", "interval.level=0.9"),
    ),
    ("cite", "meta", "rated.jsonl", *JUDGES, "-s", "profile=released", "-s", "premise=chunks"),
    (
        *("cite", "meta", "rated.jsonl", "--nli", "overlap", "--pipelines", "scifi,autoais", "--scenario", "cited"),
        *("-s", "none=response", "-s", "unrated=full marks", "-s", "responses=rated statements", "-s", "window=4"),
        *("-s", "interval.level=0.9", "-s", "protocols=retrieval,correlation"),
    ),
]
ASKED = [
    (
        *("cite", "scifi", "answers.jsonl", "--nli", "overlap", "-s", "map_all=true"),
        *("-s", "temperature=0.3", "-s", "seed=4"),
    ),
    ("cite", "citeeval", "answers.jsonl"),
    (
        *("cite", "citeeval", "answers.jsonl", "--profile", "released", "--scenario", "cited", "-s", "weight=0.3"),
        *("-s", "highest=null", "-s", "styles={carets: false}", "-s", "max_tokens=2000", "-s", "top_p=null"),
        *("-s", "contexts=where needed", "-s", "statements_per_request=1"),
        *("-s", "extra={top_k: 1, stop: ['a', 'b=c']}"),
    ),
    (
        *("cite", "citeeval", "answers.jsonl", "--baselines", "lqac,attrscore", *JUDGES),
        *("-s", "baseline_max_tokens=99", "-s", "otherwise=attributable"),
    ),
    ("cite", "meta", "rated.jsonl", "--pipelines", "citeeval", "-s", "weight=0.9", "-s", "max_tokens=99"),
    ("cite", "meta", "rated.jsonl", "--pipelines", "scifi", "--nli", "overlap", "-s", "facts=model", "-s", "seed=1"),
    ("cite", "refit", "rated.jsonl", "-s", "interval.level=0.9"),
    ("cite", "improve", "answers.jsonl", "-o", "better.jsonl", "--rounds", "2", "--scenario", "cited"),
    ("cite", "generate", "answers.jsonl", "-o", "new.jsonl", "--strategy", "summary", "-s", "summary_words=9"),
    ("cite", "generate", "answers.jsonl", "-o", "new.jsonl", "--strategy", "two-stage", "-s", "temperature=null"),
]


def named(args):
    return " ".join(args[:2])


def form(args):
    """Replies are told apart by their schema: where no option says so, it is not what is asked for."""
    return () if args[1] in ("citeeval", "refit", "improve") else ("-s", "output=json_schema")


@pytest.mark.parametrize("args", OFFLINE, ids=named)
def test_the_command_makes_every_signature_of_a_run_again(cli, answers, args):
    check(cli, answers, args, {})


@pytest.mark.parametrize("args", ASKED, ids=named)
def test_with_the_kept_replies_it_needs_no_model(cli, fake, answers, args):
    with fake.ChatServer(answer=reply) as server:
        asked = ("--model", "tiny", "--base-url", server.url, "--record", "kept.jsonl", *form(args))
        check(cli, answers, (*args, *asked), {"--record kept.jsonl": "--replay kept.jsonl"})


def check(ran, folder, args, replaced):
    """Run, and run the command that explain gives for each signature: it writes every signature of the job again."""
    ran(*args, *QUICK, "--results", "first")
    wanted = signatures(folder / "first")
    assert wanted
    commands = set()
    for text in wanted:
        for one in explain(read_signature(text)):
            assert [part.name for part in (one, *one.parts) if not part.text] == []
        told = ran("results", "explain", text, "--results", "first")
        commands.add(tuple(command_of(told.out)))
    (words,) = commands
    line = f"{shlex.join(words)} "
    for old, new in {**replaced, "--results first": "--results again"}.items():
        assert f" {old} " in line
        line = line.replace(f" {old} ", f" {new} ")
    ran(*shlex.split(line), "-q")
    assert signatures(folder / "again") == wanted, line


def test_fitted_coefficients_are_a_file_that_the_command_names(cli, ran, fake, answers):
    fitted = "results/latest/fitted.json"
    with fake.ChatServer(answer=reply) as server:
        asked = ("--model", "tiny", "--base-url", server.url)
        ran("cite", "refit", "rated.jsonl", *asked, *QUICK)
        args = ("cite", "citeeval", "answers.jsonl", "--coefficients", fitted, *asked, "--record", "kept.jsonl")
        check(cli, answers, args, {"--record kept.jsonl": "--replay kept.jsonl"})


def test_scores_from_elsewhere_are_a_file_that_the_command_names(cli, answers):
    check(cli, answers, ("cite", "meta", "rated.jsonl", "--scores", "scores.jsonl"), {})


def test_rewritten_claims_come_from_the_reply_store(cli, ran, fake, answers):
    with fake.ChatServer(answer=reply) as server:
        args = tuple("cite rewrite answers.jsonl -s whole=true --nli overlap -s rewrite.temperature=0.5".split())
        asked = ("--model", "tiny", "--base-url", server.url)
        ran(*args, *asked, *QUICK)
        (wanted,) = signatures(answers / "results")
        sent = server.attempts.total()
        words = command_of(cli("results", "explain", wanted).out)
        ran(*words, "-q", "--results", "again")
        assert (signatures(answers / "again"), server.attempts.total()) == ({wanted}, sent)


def test_a_file_of_the_command_that_has_changed_is_told(cli, ran, fake, answers):
    prompt = answers / "editing.txt"
    prompt.write_text("Edit. {query} {passages} {statements} Reply in JSON.")
    with fake.ChatServer(answer=reply) as server:
        asked = ("--model", "tiny", "--base-url", server.url, "-s", f"editing_file={prompt}")
        ran("cite", "citeeval", "answers.jsonl", *asked, *QUICK)
    out = cli("results", "explain", "results/latest/citeeval.json").out
    found = read_signature(next(iter(signatures(answers / "results"))))
    hashed = re.search(r"editing@(\w+)", found["prompts"])[1]
    assert hashed
    assert f"--set editing_file={prompt}" in out
    assert "--model tiny" in out
    assert "--base-url http://" in out
    prompt.write_text("Another. {query} {passages} {statements} Reply in JSON.")
    assert f"  - {prompt} is missing or has changed." in cli("results", "explain", "latest").out
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "another wording than metaeval has here" in lines["editing"]
    assert "in metaeval's own words" in lines["attribution"]
    assert "most tokens in a reply" in lines["max_tokens"]


def test_a_sheet_says_what_its_rows_share_and_what_is_a_rows_own(cli, ran, answers):
    ran("cite", "scifi", "answers.jsonl", "--nli", "overlap,rouge", *QUICK)
    file = "results/latest/scifi-scores.json"

    whole, one = cli("results", "explain", file), cli("results", "explain", file, "rouge")

    shared, _, own = whole.out.partition("Each row's own:")
    assert "most words (or tokens) in a chunk" in shared
    named = [line.split("(")[0] for line in own.splitlines() if line.startswith(("overlap", "rouge"))]
    assert named == ["overlap: backend:overlap@v1", "rouge: backend:rouge@v1"]
    assert command_of(one.out)[:7] == ["cite", "scifi", "answers.jsonl", "--nli", "overlap", "--nli", "rouge"]
    assert cli("results", "explain", file, "rogue").err.strip().endswith("Did you mean 'rouge'? Known: overlap, rouge.")


def test_diff_names_the_option_and_the_numbers_of_two_sheets(cli, ran, answers):
    for folder, titles in (("one", "true"), ("two", "false")):
        args = ("cite", "scifi", "answers.jsonl", "--nli", "overlap", "-s", f"titles={titles}", "--results", folder)
        ran(*args, *QUICK)
    files = [f"{folder}/latest/scifi-scores.json" for folder in ("one", "two")]
    records = [json.loads((answers / file).read_text())["records"] for file in files]
    before, after = (
        next(one["value"] for one in own if (one["system"], one["measure"]) == ("system 0", "entailment_facts"))
        for own in records
    )

    ended = cli("results", "diff", *files)

    # "Oder" stands in the title alone.
    assert (ended.code, before > after) == (1, True)
    lines = [line.strip() for line in ended.out.splitlines()]
    assert [line.split("  ")[0] for line in lines[:3]] == ["overlap", "options.titles", "numbers"]
    assert lines[1].startswith("options.titles  True -> False  begin every chunk with its passage's title")
    (line,) = [line for line in lines if line.startswith("system 0, overlap, entailment_facts  ")]
    assert f"{before:.6g} -> {after:.6g}" in line
    assert f"by {after - before:+.6g}" in line
    assert (
        cli("results", "diff", files[0], files[0]).out == "The same in every choice, and every number of the table.\n"
    )


def test_two_sheets_of_another_kind_are_not_compared(ran, refused, answers):
    ran("cite", "scifi", "answers.jsonl", "--nli", "overlap", *QUICK)
    folder = "results/latest"

    said = refused("results", "diff", f"{folder}/scifi-scores.json", f"{folder}/scifi-answers.json")

    assert "holds the table scifi-scores, and" in said
    assert "holds the table scifi-answers: give two" in said


def test_a_table_is_shown_and_one_of_an_earlier_version_says_where_it_stands(cli, ran, refused, answers):
    ran("cite", "scifi", "answers.jsonl", "--nli", "overlap", *QUICK)
    path = answers / "results" / "latest" / "scifi-scores.json"

    assert r"\begin{tabular}" in cli("results", "show", path, "--format", "latex").out
    data = json.loads(path.read_text())
    kept = {name: data[name] for name in ("name", "data", "settings", "signatures", "records")}
    path.write_text(json.dumps({"schema": "metaeval-sheet/1", **kept}))

    said = refused("results", "show", path, "--format", "latex")

    assert "read it as scifi-scores.txt, .md, .tex or .csv" in said
    ran("results", "explain", path)

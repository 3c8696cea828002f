"""The command that `results show` prints for a job of a citation command makes the job's signatures again."""

import json
import shlex

import pytest

from tests.cli.samples import reply, write_rated_answers

pytest.importorskip("openai", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

QUICK = ("-s", "interval.resamples=5", "-q")


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
    """The words behind 'Command:', without the program's name."""
    program, *words = shlex.split(out.partition("\nCommand: ")[2].splitlines()[0])
    assert program == "metaeval"
    return words


OFFLINE = [
    "alce answers.jsonl --nli overlap --threshold 0.5 -s premise=chunks -s chunk.size=9 -s interval.seed=4",
    "aliice answers.jsonl --nli rouge-2 --threshold soft --profile released",
    "scifi answers.jsonl --nli overlap",
    "scifi answers.jsonl --nli overlap,rouge --threshold overlap=0.5 -s group=joint -s uncited=fails"
    " -s metric_options.rouge.stem=true -s interval.level=0.9",
    "meta rated.jsonl --nli overlap --threshold 0.5 -s profile=released",
    "meta rated.jsonl --scores scores.jsonl",
    "meta rated.jsonl --nli overlap --pipelines scifi,autoais --scenario cited -s interval.level=0.9 -s gaps=response",
]
ASKED = [
    "scifi answers.jsonl --nli overlap -s uncited=fails -s chat.temperature=0.3 -s chat.seed=4",
    "citeeval answers.jsonl",
    "citeeval answers.jsonl --profile released --scenario cited -s chat.max_tokens=2000 -s chat.top_p=null"
    " -s statements_per_request=1 -s \"chat.extra={top_k: 1, stop: ['a', 'b=c']}\"",
    "citeeval answers.jsonl --baselines lqac,attrscore --nli overlap --threshold 0.5",
    "meta rated.jsonl --pipelines citeeval -s chat.max_tokens=99",
    "meta rated.jsonl --pipelines scifi --nli overlap -s facts=model -s chat.seed=1",
    "refit rated.jsonl -s interval.level=0.9",
    "improve answers.jsonl -o better.jsonl --rounds 2 -s scenario=cited",
    "generate answers.jsonl -o new.jsonl --strategy summary -s samples=2 -s chat.temperature=0.5",
    "generate answers.jsonl -o new.jsonl --strategy two-stage -s chat.temperature=null",
]


@pytest.mark.parametrize("typed", OFFLINE)
def test_the_command_makes_every_signature_of_a_run_again(cli, answers, typed):
    check(cli, answers, ("cite", *shlex.split(typed)), {})


@pytest.mark.parametrize("typed", ASKED)
def test_with_the_kept_replies_it_needs_no_model(cli, fake, answers, typed):
    # Replies are told apart by their schema: where no option says so, it is not what is asked for.
    form = () if typed.startswith(("citeeval", "refit", "improve")) else ("-s", "chat.output=json_schema")
    with fake.ChatServer(answer=reply) as server:
        asked = ("--model", "tiny", "--base-url", server.url, "--record", "kept.jsonl", *form)
        check(cli, answers, ("cite", *shlex.split(typed), *asked), {"--record kept.jsonl": "--replay kept.jsonl"})


def check(ran, folder, args, replaced):
    """Run, and run the command that `results show` prints: it writes every signature of the job again."""
    ran(*args, *QUICK, "--results", "first")
    wanted = signatures(folder / "first")
    assert wanted
    line = f"{shlex.join(command_of(ran('results', 'show', '--results', 'first').out))} "
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


def test_rewritten_claims_come_from_the_reply_store(cli, ran, fake, answers):
    with fake.ChatServer(answer=reply) as server:
        args = tuple("cite rewrite answers.jsonl -s whole=true --nli overlap -s chat.temperature=0.5".split())
        asked = ("--model", "tiny", "--base-url", server.url)
        ran(*args, *asked, *QUICK)
        (wanted,) = signatures(answers / "results")
        sent = server.attempts.total()
        words = command_of(cli("results", "show").out)
        ran(*words, "-q", "--results", "again")
        assert (signatures(answers / "again"), server.attempts.total()) == ({wanted}, sent)


def test_a_file_of_the_command_that_has_changed_is_told(cli, ran, fake, answers):
    prompt = answers / "editing.txt"
    prompt.write_text("Edit. {query} {passages} {statements} Reply in JSON.")
    with fake.ChatServer(answer=reply) as server:
        asked = ("--model", "tiny", "--base-url", server.url, "-s", f"editing_file={prompt}")
        ran("cite", "citeeval", "answers.jsonl", *asked, *QUICK)
    out = cli("results", "show").out
    assert f"--set editing_file={prompt}" in out
    assert "--model tiny" in out
    assert "--base-url http://" in out
    prompt.write_text("Another. {query} {passages} {statements} Reply in JSON.")
    assert f"{prompt} is missing or has changed." in cli("results", "show").out

"""Every command of docs/papers.md is run on small made files, or the page says what is not at hand for it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.samples import reply
from tests.docs.test_docs_papers import PAPERS, READ

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
MADE = json.loads(Path(__file__).with_name("papers.json").read_text(encoding="utf-8"))
PROMPTS = [ROOT / "metaeval" / "citation" / name / "prompts" for name in ("generation", "scifi", "aliice", "citeeval")]


def said(body):
    """What stands for a chat model says: what its schema wants, a choice of documents, a level, or an answer."""
    prompt, text = body["messages"][-1]["content"], reply(body)
    if "Prediction:" in prompt:
        return "Prediction: 1"
    if "<contexts>" in prompt:
        return '<attribution sentence_id="1">2</attribution><attribution sentence_id="2">2</attribution>'
    if "<edits>" in prompt:
        return '<editing sentence_id="1">N/A</editing><rating sentence_id="1">4</rating>'
    choice = "You decide for the next sentence" in prompt
    answer = "[1]" if choice else "The Oder is long [1] and the mill grinds grain [2]."
    return text if text.startswith("{") else answer


def write(files):
    """Write the made files of a paper into this folder: JSON lines, JSON or text; and prompts, which are ours."""
    for prompts in PROMPTS:
        shutil.copytree(prompts, "folder", dirs_exist_ok=True)
    shutil.copy("folder/rewriting.txt", "prompt.txt")
    for name, content in files.items():
        lines = "".join(f"{json.dumps(row)}\n" for row in content) if name.endswith(".jsonl") else json.dumps(content)
        Path(name).write_text(content if isinstance(content, str) else lines, encoding="utf-8")


def typed(command, url, published):
    """The command's words as they are typed here; none where it needs published data that are not to be read."""
    words = PAPERS.at_hand(command)
    if {"wice", "expertqa"} & {*words} and "--data" not in words:
        return [*words, "--data", str(SHARED)] if published else []
    judges = [name for name in ("llm-discrete", "llm-continuous") if "base-paper-judges" in words]
    words += [part for name in judges for part in ("-s", f"metric_options.{name}.base_url={url}")]
    return [*words, "-s", f"base_url={url}"] if "--model" in words else words


@pytest.mark.usefixtures("own_environment", "scored")
@pytest.mark.parametrize(
    ("name", "published"), [*((name, False) for name in MADE), pytest.param("base", True, marks=pytest.mark.slow)]
)
def test_every_command_is_run_or_lacks_what_the_page_names(name, published, cli, fake):
    """In the page's order: what a command writes, such as a model's replies, the next ones read."""
    if published and not SHARED.is_dir():
        pytest.skip("the published data are not beside the project")
    with fake.ChatServer(answer=said) as server:
        for row in READ[name].rows:
            write(MADE[name])
            Path("results/latest").unlink(missing_ok=True)
            commands = [typed(command, server.url, published) for command in row.commands if not PAPERS.lacks(command)]
            found = set()
            for words in filter(None, commands):
                ended = cli(*words)
                assert ended.code == 0, (row.part, words, ended.err)
                found |= {path.stem for path in Path("results/latest").rglob("*.json")}
            assert not all(commands) or found.issuperset(row.tables), row.part

"""The parser backends: spaCy's pipelines, the shipped one, stored parses, and what is said where one is missing."""

import builtins
import json
import os
import pickle
import shutil

import pytest

from metaeval.citation.parsers import dependency_parsers
from metaeval.citation.parsers.dependency_parsers import SMALL, Parse, find_parser, read_parses
from metaeval.core.errors import UserError

spacy = pytest.importorskip("spacy", reason="needs the extra 'citation'")

TEXT = "Cups can be made of glass or plastic"
# The parse of en_core_web_sm 2.2.5 for this sentence, as tests/golden/aliice_parser.json has it (paper_fig1_A2).
CUPS = Parse(
    tuple(TEXT.split()), ("nsubjpass", "aux", "auxpass", "ROOT", "prep", "pobj", "cc", "conj"), (3, 3, 3, 3, 3, 4, 5, 5)
)


def test_the_small_parser_parses_in_order_and_says_what_it_is():
    parser = find_parser()
    assert parser.name == f"small (en_support_parser 0.1.0, spaCy {spacy.__version__})"
    assert parser.parse([TEXT, "", "Rain fell."])[::2] == [CUPS, parser.parse(["Rain fell."])[0]]
    assert parser.parse(["", TEXT]) == [Parse((), (), ()), CUPS]


def test_the_shipped_pipeline_is_whole():
    names = {
        str(path.relative_to(dependency_parsers.SMALL))
        for path in dependency_parsers.SMALL.rglob("*")
        if path.is_file()
    }
    assert names == {
        "config.cfg", "meta.json", "parser/cfg", "parser/model", "parser/moves", "tok2vec/cfg", "tok2vec/model",
        "tokenizer",
    }  # fmt: skip
    meta = json.loads((dependency_parsers.SMALL / "meta.json").read_text(encoding="utf-8"))
    assert (meta["name"], meta["license"]) == ("support_parser", "MIT")


def test_one_root_whatever_stands_in_the_text():
    texts = ["Rain fell. The river rose. It flooded the town.", "He came. She left."]
    parses = find_parser("small").parse(texts)
    assert [len(parse.roots) for parse in parses] == [1, 1]


def test_any_pipeline_on_disk_is_a_parser():
    parser = find_parser(f"spacy:{dependency_parsers.SMALL}")
    assert parser.parse([TEXT]) == [CUPS]
    assert "en_support_parser 0.1.0" in parser.name


def test_a_pipeline_without_a_parser_is_refused(tmp_path):
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(UserError, match="has no dependency parser"):
        find_parser(f"spacy:{tmp_path / 'blank'}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("smal", r"Unknown parser 'smal'\. Known: small, spacy:NAME, stored:FILE\.json\."),
        ("spacy:", r"Unknown parser 'spacy:'"),
        ("spacy:no_such_pipeline", r"type 'python -m spacy download no_such_pipeline'"),
        ("stored:nowhere.json", r"Cannot read nowhere\.json: No such file"),
    ],
)
def test_what_cannot_be_found_is_said(name, message):
    with pytest.raises(UserError, match=message):
        find_parser(name)


def test_without_spacy_the_sentence_has_the_command(monkeypatch):
    importing = builtins.__import__

    def without_spacy(name, *args, **more):
        if name == "spacy":
            raise ModuleNotFoundError("No module named 'spacy'", name="spacy")
        return importing(name, *args, **more)

    dependency_parsers._load.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without_spacy)
    with pytest.raises(UserError, match=r"pip install -e '\.\[citation\]'"):
        find_parser("small")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "stored parses are an object of texts and their tokens"),
        ('{"Rain": [{"text": "Rain", "dep": "ROOT"}]}', "'text', 'dep' and 'head'.*KeyError"),
        ('{"Rain": [{"text": "Rain", "dep": "ROOT", "head": 3}]}', "Token 0 has head 3; allowed are 0 to 0"),
    ],
)
def test_stored_parses_that_are_none_are_refused(tmp_path, content, message):
    path = tmp_path / "parses.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_parses(path)


# Folders of somebody else's: nothing in them runs, and what cannot be read is one sentence.
CALLBACK = '{"@callbacks": "evil.callback"}'
PICKLED = ("tokenizer", "parser/model", "parser/moves", "parser/cfg", "tok2vec/model", "vocab/strings.json")
MORE = ("vocab/lookups.bin", "vocab/vectors", "vocab/key2row", "vocab/vectors.cfg")
CONFIGURED = {
    "before_creation = null": f"before_creation = {CALLBACK}",
    "after_creation = null": f"after_creation = {CALLBACK}",
    'factory = "parser"': 'factory = "evil"',
    '@tokenizers = "spacy.Tokenizer.v1"': '@tokenizers = "evil.Tokenizer"',
    "[nlp]": "[nlp",
}


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    """A copy of the shipped pipeline, with code beside it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SMALL, tmp_path / "evil")
    for name in ("__init__.py", "evil.py"):
        (tmp_path / "evil" / name).write_text("import os; os.system('touch pwned')")
    return tmp_path / "evil"


def refusal(folder):
    with pytest.raises(UserError) as error:
        find_parser(f"spacy:{folder}")
    assert not os.path.exists("pwned")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_code_beside_a_pipeline_is_not_imported(pipeline):
    (found,) = find_parser(f"spacy:{pipeline}").parse(["The Oder is long."])

    assert found.tokens == ("The", "Oder", "is", "long", ".")
    assert not os.path.exists("pwned")


@pytest.mark.parametrize("name", [*PICKLED, *MORE])
def test_a_pickle_in_the_place_of_a_part_is_refused(pipeline, name):
    class Payload:
        def __reduce__(self):
            return os.system, ("touch pwned",)

    (pipeline / name).parent.mkdir(exist_ok=True)
    (pipeline / name).write_bytes(pickle.dumps(Payload()))
    if name in MORE:
        (pipeline / "vocab" / "strings.json").write_text("[]")

    assert "cannot be loaded" in refusal(pipeline)


@pytest.mark.parametrize("line", CONFIGURED)
def test_a_function_that_nobody_registered_is_refused(pipeline, line):
    config = (pipeline / "config.cfg").read_text()
    assert line in config
    (pipeline / "config.cfg").write_text(config.replace(line, CONFIGURED[line]))

    assert "cannot be loaded" in refusal(pipeline)

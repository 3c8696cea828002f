"""The parser backends: spaCy's pipelines, the shipped one, stored parses, and what is said where one is missing."""

import builtins
import os
import pickle
import shutil
import sys

import pytest

from metaeval.citation.parsers import dependency_parsers
from metaeval.citation.parsers.dependency_parsers import SMALL, Parse, find_parser, read_parses
from metaeval.core.errors import UserError
from metaeval.core.files import inputs_protected

spacy = pytest.importorskip("spacy", reason="needs the extra 'citation'")

TEXT = "Cups can be made of glass or plastic"
# The parse of en_core_web_sm 2.2.5 for this sentence, as tests/golden/aliice_parser.json has it (paper_fig1_A2).
LABELS = ("nsubjpass", "aux", "auxpass", "ROOT", "prep", "pobj", "cc", "conj")
CUPS = Parse(tuple(TEXT.split()), LABELS, (3, 3, 3, 3, 3, 4, 5, 5))


def test_the_small_parser_parses_in_order_and_says_what_it_is():
    parser = find_parser()
    assert parser.name == f"small (en_support_parser 0.1.0, spaCy {spacy.__version__})"
    assert parser.parse([TEXT, "", "Rain fell."])[::2] == [CUPS, parser.parse(["Rain fell."])[0]]
    assert parser.parse(["", TEXT]) == [Parse((), (), ()), CUPS]
    texts = ["Rain fell. The river rose. It flooded the town.", "He came. She left."]
    assert [len(parse.roots) for parse in parser.parse(texts)] == [1, 1]
    of_disk = find_parser(f"spacy:{SMALL}")
    assert of_disk.parse([TEXT]) == [CUPS]
    assert "en_support_parser 0.1.0" in of_disk.name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("smal", r"Unknown parser 'smal'\. Known: small, spacy:NAME, stored:FILE\.json\."),
        ("spacy:", "Unknown parser 'spacy:'"),
        ("spacy:no_such_pipeline", "spacy download no_such_pipeline"),
        ("stored:nowhere.json", r"Cannot read nowhere\.json"),
        ("spacy:blank", "has no dependency parser"),
    ],
)
def test_what_cannot_be_found_is_said(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(UserError, match=message):
        find_parser(name)


@pytest.mark.parametrize(("from_python", "torch"), [(False, None), (True, "absent")])
def test_torch_is_hidden_from_spacy_for_a_command_and_not_for_a_program(monkeypatch, from_python, torch):
    importing, seen = builtins.__import__, []

    def watched(name, *args, **more):
        if name == "spacy":
            seen.append(sys.modules.get("torch", "absent"))
        return importing(name, *args, **more)

    dependency_parsers._load.cache_clear()
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(builtins, "__import__", watched)
    with inputs_protected(from_python=from_python):
        find_parser()
    assert seen[0] == torch
    assert "torch" not in sys.modules


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
        ('{"Rain": [{"text": "Rain", "dep": "ROOT"}]}', "KeyError"),
        ('{"Rain": [{"text": "Rain", "dep": "ROOT", "head": "0"}]}', "TypeError"),
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


class Payload:
    def __reduce__(self):
        return os.system, ("touch pwned",)


@pytest.mark.parametrize("change", ["", *PICKLED, *MORE, *CONFIGURED])
def test_nothing_in_a_pipeline_runs_and_what_cannot_be_read_is_refused(tmp_path, monkeypatch, change):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "evil"
    shutil.copytree(SMALL, folder)
    for name in ("__init__.py", "evil.py"):
        (folder / name).write_text("import os; os.system('touch pwned')")
    if change in CONFIGURED:
        config = (folder / "config.cfg").read_text()
        assert change in config
        (folder / "config.cfg").write_text(config.replace(change, CONFIGURED[change]))
    elif change:
        (folder / change).parent.mkdir(exist_ok=True)
        (folder / change).write_bytes(pickle.dumps(Payload()))
        if change in MORE:
            (folder / "vocab" / "strings.json").write_text("[]")
    if not change:
        (found,) = find_parser(f"spacy:{folder}").parse(["The Oder is long."])
        assert found.tokens == ("The", "Oder", "is", "long", ".")
    else:
        with pytest.raises(UserError, match=r"^[^\n]*cannot be loaded[^\n]*$"):
            find_parser(f"spacy:{folder}")
    assert not os.path.exists("pwned")

"""Folders of spaCy pipelines of somebody else's: nothing in them runs, and what cannot be read is one sentence."""

import os
import pickle
import shutil

import pytest

pytest.importorskip("spacy", reason="needs the extra 'citation'")

from metaeval.citation.parsers.dependency_parsers import SMALL, find_parser
from metaeval.errors import UserError

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

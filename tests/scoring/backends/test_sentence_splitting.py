"""Which splitter runs, under which name: NLTK's punkt_tab where its data are, rules without data elsewhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.sentences import SPLITTER, split_sentences
from metaeval.scoring.backends import sentence_splitting
from metaeval.scoring.backends.sentence_splitting import find_splitter

GOLDEN = Path(__file__).parents[2] / "golden"
TEXT = (
    "Dr. Osei joined in 2009, at 10 a.m. on a Monday. She led the group! Did she? Yes…\nThen\nshe left. [2] It rained."
)


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """No data anywhere, and no network; `fetched` lists what was asked for."""
    nltk = pytest.importorskip("nltk", reason="needs the extra 'models'")
    fetched = []
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(nltk, "download", lambda *given, **named: fetched.append((given, named)))
    return fetched


@pytest.fixture
def data(bare, punkt_data):
    """Data of punkt_tab, and nothing else."""
    return punkt_data


def test_rules_need_nothing(bare):
    found = find_splitter("rules")
    assert found.name == SPLITTER
    assert found.split(TEXT) == split_sentences(TEXT)
    assert found.split("") == found.split(" \n ") == ()


def test_auto_is_rules_where_no_data_are_and_fetches_nothing_and_without_nltk(bare, monkeypatch):
    assert find_splitter("auto").name == find_splitter().name == SPLITTER
    assert bare == []
    monkeypatch.setattr(sentence_splitting, "find_spec", lambda name: None)
    assert find_splitter("auto").name == SPLITTER
    with pytest.raises(UserError, match="pip install nltk"):
        find_splitter("nltk")


def test_nltk_without_data_asks_once_and_says_what_to_type(bare, tmp_path):
    with pytest.raises(UserError, match=r"nltk\.downloader punkt_tab.*splitter=rules"):
        find_splitter("nltk")
    assert bare == [(("punkt_tab",), {"download_dir": str(tmp_path / "cache" / "nltk_data"), "quiet": True})]


def test_data_are_looked_for_where_nltk_does_and_it_is_not_imported_for_that(tmp_path):
    pytest.importorskip("nltk", reason="needs the extra 'models'")
    code = """import sys
from metaeval.scoring.backends.sentence_splitting import find_splitter, nltk_places
name, places = find_splitter("auto").name, nltk_places()
imported = "nltk" in sys.modules
import nltk
sys.exit(str((name, imported, places)) if imported == name.startswith("rules") or places != nltk.data.path else 0)"""
    environment = {**os.environ, "NLTK_DATA": f"~/mine{os.pathsep}{os.pathsep}/data", "HOME": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def test_nltk_splits_as_nltk(data):
    from nltk.tokenize import sent_tokenize

    found = find_splitter("nltk")
    assert found.split(TEXT) == sent_tokenize(TEXT)
    assert (found, found.split("")) == (find_splitter("auto"), [])
    # The two differ where it matters: the rules end a sentence at every line break.
    assert found.split("One line\nof text.") == ["One line\nof text."]
    assert find_splitter("rules").split("One line\nof text.") == ("One line", "of text.")


def test_the_name_tells_package_version_and_data(data, tmp_path, monkeypatch):
    import nltk

    name = find_splitter("nltk").name
    start = f"nltk-{nltk.__version__}/punkt_tab-english@"
    assert name.startswith(start)
    assert len(name) == len(start) + 8
    # Other data, other name: an abbreviation more can move a boundary.
    folder = tmp_path / "other"
    shutil.copytree(data, folder)
    changed = folder / "tokenizers" / "punkt_tab" / "english" / "abbrev_types.txt"
    changed.chmod(0o644)
    changed.write_text(changed.read_text(encoding="utf-8") + "zzz\n", encoding="utf-8")
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    assert find_splitter("nltk").name.startswith(start)
    assert find_splitter("nltk").name != name


def test_data_fetched_into_the_cache_are_found_again(data, bare, monkeypatch, tmp_path):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(nltk, "download", lambda name, download_dir, quiet: shutil.copytree(data, download_dir))
    found = find_splitter("nltk")
    assert found.name.startswith("nltk-")
    monkeypatch.setattr(nltk, "download", lambda *_, **__: pytest.fail("fetched twice"))
    monkeypatch.setattr(nltk.data, "path", [])
    assert find_splitter("auto").name == found.name


def golden_texts():
    """Every text of the golden files that punkt has to cut."""
    pairs = json.loads((GOLDEN / "metrics" / "pairs.json").read_text(encoding="utf-8"))
    texts = [pair[side] for pair in pairs for side in ("source", "statement")]
    for name in ("alce_eval", "aliice_eval"):
        content = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
        texts += [case["raw_output"] for case in content["cases"]] + [document["text"] for document in content["docs"]]
    return texts


def test_the_golden_texts_are_cut_as_by_the_published_data(punkt_data, monkeypatch):
    import nltk

    texts = [TEXT, *golden_texts()]
    expected = [find_splitter("nltk").split(text) for text in texts]
    monkeypatch.setattr(nltk.data, "path", [str(GOLDEN / "nltk_data")])
    assert [find_splitter("nltk").split(text) for text in texts] == expected

"""From a card and the user's wishes to a corpus, and what every card must hold."""

import importlib
import re
from pathlib import Path

import pytest

from metaeval.corpus import loading
from metaeval.corpus.dataset import Dataset
from metaeval.corpus.loaders import qasem, wice
from metaeval.corpus.loaders.rows import Draft
from metaeval.corpus.loading import check_options, load_dataset
from metaeval.corpus.model import Statement
from metaeval.errors import UserError

NAMES = (
    "mini",
    "jsonl",
    "wice",
    "expertqa",
    "factcheck_gpt",
    "qasem",
    "gensearch",
    "frank",
    "xsum_hallucination",
    "ratings",
)


def card(name: str) -> Dataset:
    dataset = importlib.import_module(f"metaeval.corpus.loaders.{name}").DATASET
    assert isinstance(dataset, Dataset)
    return dataset


@pytest.mark.parametrize("name", NAMES)
def test_every_card_is_whole(name: str) -> None:
    dataset = card(name)
    assert dataset.name == name
    assert dataset.default_split in dataset.files
    assert all((dataset.title, dataset.origin, dataset.licence, dataset.schema, dataset.note))
    for option in dataset.options.values():
        assert option.default in option.allowed
        assert option.help
    for file in (file for files in dataset.files.values() for file in files):
        assert file.url.startswith("https://raw.githubusercontent.com/")
        assert file.url.endswith(f"/{file.name}")
        if file.sha256:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.size > 0
            assert re.search(r"/[0-9a-f]{40}/", file.url), "a checksum needs a pinned commit"
        else:
            assert "no pinned checksum" in dataset.note


@pytest.mark.parametrize("name", NAMES)
def test_the_real_files_are_those_that_the_card_pins(name: str, real_folder: Path) -> None:
    for row in loading.verify(card(name), real_folder):
        assert row.status == ("ok" if row.file.sha256 else "missing")
        assert row.status == "missing" or row.path.stat().st_size == row.file.size


def test_an_unknown_split_is_told() -> None:
    with pytest.raises(UserError, match=r"Unknown split of wice 'tset'\. Did you mean 'test'\? Known: dev, test"):
        load_dataset(wice.DATASET, "tset")


def test_unknown_options_and_values_are_told() -> None:
    with pytest.raises(UserError, match=r"Unknown option of qasem 'sorce'\. Did you mean 'source'"):
        load_dataset(qasem.DATASET, options={"sorce": "all"})
    with pytest.raises(UserError, match=r"Unknown value of qasem's option source: 'clif'\. Did you mean 'cliff'"):
        load_dataset(qasem.DATASET, options={"source": "clif"})
    with pytest.raises(UserError, match="Known: none"):
        load_dataset(wice.DATASET, options={"source": "all"})


def test_options_come_with_their_defaults() -> None:
    assert check_options(qasem.DATASET, {}) == {"source": "verifiability"}
    assert check_options(qasem.DATASET, {"source": "all"}) == {"source": "all"}


def test_the_files_are_looked_for_in_data(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"neither wice/test\.jsonl nor test\.jsonl"):
        load_dataset(wice.DATASET, data=tmp_path)


def test_documents_of_one_text_are_one_document() -> None:
    draft = Draft("x")
    assert draft.document("a", url="u") == draft.document("a", url="v") != draft.document("b", url="u")
    assert draft.document(url="u") == draft.document(url="u") != draft.document(url="v")
    assert draft.document(sentences=("a",)) != draft.document("a")


def test_two_statements_under_one_id_are_an_error() -> None:
    draft = Draft("x")
    draft.statement(Statement("s", "a", "g"))
    draft.statement(Statement("s", "a", "g"))
    with pytest.raises(UserError, match="'s' to two statements"):
        draft.statement(Statement("s", "b", "g"))

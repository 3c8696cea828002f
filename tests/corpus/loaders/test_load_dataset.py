"""From a card and the user's wishes to a corpus, and what every card must hold."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from metaeval import registry
from metaeval.conformance.dataset import CHECKS, DatasetSubject, its_card_is_whole, missing_files_are_told
from metaeval.corpus import loading
from metaeval.corpus.data_rows import CorpusDraft
from metaeval.corpus.dataset import Dataset
from metaeval.corpus.loaders import mini, qasem, wice
from metaeval.corpus.loading import check_options, load_dataset
from metaeval.corpus.model import Statement
from metaeval.errors import UserError

NAMES = registry.names("dataset")


def card(name: str) -> Dataset:
    dataset = registry.find("dataset", name)
    assert isinstance(dataset, Dataset)
    return dataset


@pytest.fixture
def data(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """What a data set is read from: the published files, or a file as a user has it."""
    if name == "ratings":
        rows = [{"id": number, "group": f"g{number // 2}", "gold": number % 3} for number in range(6)]
        path = tmp_path / "rated.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return path
    if name == "jsonl":
        return Path(mini.__file__).with_name("mini.jsonl")
    return request.getfixturevalue("real_folder") if card(name).folder else None


@cache
def subject(name: str, data: Path | None) -> DatasetSubject:
    """Its splits are loaded once for all checks."""
    return DatasetSubject(card(name), data, name)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_every_data_set_keeps_the_contract(
    name: str, check: Callable[[DatasetSubject], None], request: pytest.FixtureRequest
) -> None:
    needs_files = check not in (its_card_is_whole, missing_files_are_told)
    check(subject(name, request.getfixturevalue("data") if needs_files else None))


RENAMED = ("wice_oracle", "memerag", "memerag_votes", "trec_rag24", "trec_rag25")


@pytest.mark.parametrize("name", NAMES)
def test_every_card_pins_its_files(name: str) -> None:
    dataset = card(name)
    assert dataset.note
    for file in (file for files in dataset.files.values() for file in files):
        if file.member:  # in an archive without a published hash, which is recorded at the first download
            assert file.member.endswith(f"/{file.name}")
            assert "recorded" in dataset.note
            continue
        # NIST's files have no commit, but a date in their names.
        dated = re.fullmatch(r"https://trec\.nist\.gov/data/rag/\S+\.\d{8}\.jsonl", file.url)
        assert dated or file.url.startswith("https://raw.githubusercontent.com/")
        # The names of WiCE's outputs are those of the folders that hold them; MEMERAG's files are called en.jsonl.
        assert file.url.endswith(f"/{file.name}") or name in RENAMED
        if file.sha256:
            assert dated or re.search(r"/[0-9a-f]{40}/", file.url), "a checksum needs a pinned commit"
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
    with pytest.raises(UserError, match=r"neither the file wice/test\.jsonl nor test\.jsonl"):
        load_dataset(wice.DATASET, data=tmp_path)


def test_documents_of_one_text_are_one_document() -> None:
    draft = CorpusDraft("x")
    assert draft.document("a", url="u") == draft.document("a", url="v") != draft.document("b", url="u")
    assert draft.document(url="u") == draft.document(url="u") != draft.document(url="v")
    assert draft.document(sentences=("a",)) != draft.document("a")


def test_two_statements_under_one_id_are_an_error() -> None:
    draft = CorpusDraft("x")
    draft.statement(Statement("s", "a", "g"))
    draft.statement(Statement("s", "a", "g"))
    with pytest.raises(UserError, match="'s' to two statements"):
        draft.statement(Statement("s", "b", "g"))

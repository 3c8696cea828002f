"""From a card and the user's wishes to a corpus, and what every card must hold."""

import re

import pytest

from metaeval.core import registry
from metaeval.core.errors import UserError
from metaeval.corpus import loading
from metaeval.corpus.data_rows import CorpusDraft
from metaeval.corpus.loaders import qasem, wice
from metaeval.corpus.loading import check_options, load_dataset
from metaeval.corpus.model import Corpus, Statement

NAMES = registry.names("dataset")


def card(name):
    return registry.find("dataset", name)


@pytest.mark.parametrize("name", NAMES)
def test_every_card_is_whole_and_missing_files_are_told(name, tmp_path):
    dataset = card(name)
    assert all((dataset.name == name, dataset.title, dataset.origin, dataset.licence, dataset.schema))
    assert dataset.default_split in dataset.files
    assert all(not option.allowed or option.default in option.allowed for option in dataset.options.values())
    if dataset.files[dataset.default_split]:
        with pytest.raises(UserError):
            load_dataset(dataset, data=tmp_path)


PINNED = [name for name in NAMES if all(file.sha256 for file in card(name).files[card(name).default_split])]


@pytest.mark.parametrize("name", [name for name in PINNED if card(name).folder and not card(name).questions])
def test_a_published_split_can_be_resampled(name, real_folder):
    loaded = load_dataset(card(name), data=real_folder)
    assert all(reason and count > 0 for reason, count in loaded.dropped.items())
    if isinstance(loaded, Corpus):
        assert all(statement.text.strip() for statement in loaded.statements.values())
        assert len({statement.group for statement in loaded.statements.values()}) > 1
        assert len({citation.level for citation in loaded.citations}) > 1
    else:
        assert len({row.group for row in loaded.rows}) > 1 < len({row.gold for row in loaded.rows})


RENAMED = ("wice_oracle", "memerag", "memerag_votes", "trec_rag24", "trec_rag25")


@pytest.mark.parametrize("name", NAMES)
def test_every_card_pins_its_files(name):
    dataset = card(name)
    assert dataset.note
    for file in (file for files in dataset.files.values() for file in files):
        if file.member:  # in an archive without a published hash, which is recorded at the first download
            assert f"/{file.member}".endswith(f"/{file.name}")
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
def test_the_real_files_are_those_that_the_card_pins(name, real_folder):
    for row in loading.verify(card(name), real_folder):
        assert row.status == ("ok" if row.file.sha256 else "missing")
        assert row.status == "missing" or row.path.stat().st_size == row.file.size


def test_options_have_defaults_and_unknown_ones_are_told():
    with pytest.raises(UserError, match=r"Unknown option of qasem 'sorce'\. Did you mean 'source'"):
        load_dataset(qasem.DATASET, options={"sorce": "all"})
    with pytest.raises(UserError, match=r"Unknown value of qasem's option source: 'clif'\. Did you mean 'cliff'"):
        load_dataset(qasem.DATASET, options={"source": "clif"})
    with pytest.raises(UserError, match="Known: none"):
        load_dataset(wice.DATASET, options={"source": "all"})
    assert check_options(qasem.DATASET, {}) == {"source": "verifiability"}
    assert check_options(qasem.DATASET, {"source": "all"}) == {"source": "all"}


def test_documents_of_one_text_are_one_document_and_statements_of_one_id_one():
    draft = CorpusDraft("x")
    assert draft.document("a", url="u") == draft.document("a", url="v") != draft.document("b", url="u")
    assert draft.document(url="u") == draft.document(url="u") != draft.document(url="v")
    assert draft.document(sentences=("a",)) != draft.document("a")
    draft = CorpusDraft("x")
    draft.statement(Statement("s", "a", "g"))
    draft.statement(Statement("s", "a", "g"))
    with pytest.raises(UserError, match="'s' to two statements"):
        draft.statement(Statement("s", "b", "g"))

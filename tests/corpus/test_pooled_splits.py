"""Several splits as one: what they share stands once, and what they only name alike is told apart."""

import json
from dataclasses import replace

import pytest

import metaeval
from metaeval.corpus.dataset import Dataset, SourceFile
from metaeval.corpus.loaders import frank, gensearch, wice
from metaeval.corpus.loading import load_dataset
from metaeval.corpus.model import Citation, Corpus, Document, Statement, SupportLevel
from metaeval.corpus.pooled_splits import SHARED, pooled, splits_of
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.errors import UserError
from metaeval.registry import find, names

FULL, NONE = SupportLevel.FULL, SupportLevel.NONE


def corpus(name, *citations, dropped=(), scores=()):
    """A corpus of (citation id, statement id, statement, document, level); documents have their text as id."""
    return Corpus(
        name,
        {text: Document(text, text) for _, _, _, text, _ in citations},
        {own: Statement(own, text, "g") for _, own, text, _, _ in citations},
        tuple(Citation(own, statement, text, level) for own, statement, _, text, level in citations),
        dict(dropped),
        scores=dict(scores),
    )


def test_what_two_splits_share_stands_once_and_other_things_of_that_id_get_their_split():
    one = corpus("toy/a", ("s:1", "s", "Rivers flow.", "page", FULL), dropped={"bad": 1}, scores={"m": {"s:1": 0.5}})
    two = corpus(
        "toy/b",
        ("s:1", "s", "Rivers flow.", "other page", NONE),  # the same statement, another judgement of the same number
        ("t:1", "t", "Dams hold.", "page", FULL),
        dropped={"bad": 2},
        scores={"m": {"s:1": 0.25, "t:1": None}},
    )
    three = corpus("toy/c", ("s:1", "s", "Rivers flow.", "page", FULL), ("t:1", "t", "Dams fall.", "page", FULL))
    whole = pooled({"a": one, "b": two, "c": three})
    assert whole.name == "toy/a+b+c"
    assert [citation.id for citation in whole.citations] == ["s:1", "s:1@b", "t:1", "t:1@c"]
    assert list(whole.statements) == ["s", "t", "t@c"]  # Dams hold, and Dams fall
    assert whole.citations[3].statement_id == "t@c"
    assert list(whole.documents) == ["page", "other page"]
    assert whole.dropped == {"bad": 3, SHARED: 1}
    assert whole.scores == {"m": {"s:1": 0.5, "s:1@b": 0.25, "t:1": None}}


def test_ratings_are_pooled_too():
    one = Ratings("r/a", [Rating("1", "g", 1.0), Rating("2", "g", 0.0)], {"m": {"1": 3.0}})
    two = Ratings("r/b", [Rating("2", "g", 0.0), Rating("1", "h", 2.0)], {"m": {"1": 4.0}}, {"bad": 2})
    whole = pooled({"a": one, "b": two})
    assert [(row.id, row.group) for row in whole.rows] == [("1", "g"), ("2", "g"), ("1@b", "h")]
    assert dict(whole.scores["m"]) == {"1": 3.0, "1@b": 4.0}
    assert whole.dropped == {"bad": 2, SHARED: 1}


def test_the_order_in_which_splits_are_typed_does_not_matter():
    assert splits_of(wice.DATASET, "test, dev") == ("dev", "test") == splits_of(wice.DATASET, "all")
    assert splits_of(gensearch.DATASET, "all") == ("train", "dev", "test")
    assert splits_of(frank.DATASET, "all") == ("all",)


def test_a_split_named_twice_is_refused():
    with pytest.raises(UserError, match=r"split=dev, dev names dev twice: name each split once"):
        splits_of(wice.DATASET, "dev, dev")


@pytest.mark.parametrize("name", names("dataset"))
def test_every_data_set_has_all(name):
    card = find("dataset", name)
    assert set(splits_of(card, "all")) <= set(card.files)
    assert set(card.pooled) <= set(card.files)


@pytest.mark.parametrize("split", ["train", "dev,train", "all,train", "dev,", ""])
def test_a_split_that_a_data_set_lacks_is_one_sentence(split):
    with pytest.raises(UserError, match=r"Unknown split of wice '(train)?'\..* Known: dev, test\. Several"):
        splits_of(wice.DATASET, split)


def judgement(number, level):
    """One row of GenSearch's published judgements."""
    page = f"Dams store water. Sluices let water number {number} out."
    return {
        "query": "What do dams do?",
        "response": f"Dams store water [{number}].",
        "statement": f"Dams store water [{number}].",
        "source_supports_statement": level,
        "source_raw_text": page,
        "source_url": f"https://example.org/{number}",
        "source_localized_evidence": "Dams store water." if level != "no_support" else None,
    }


@pytest.fixture
def folder(tmp_path):
    """GenSearch's three files of judgements, with one row of each level in each."""
    for place, split in enumerate(("train", "dev", "test")):
        rows = [judgement(3 * place + number, level) for number, level in enumerate(gensearch.JUDGEMENTS)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"verifiability_judgments_{split}.jsonl.gz").write_text(text)
    return tmp_path


def test_a_run_on_all_of_gensearch_pools_its_judgements(folder):
    found = load_dataset(gensearch.DATASET, "all", folder)
    assert found.level_counts() == {"full": 3, "partial": 3, "none": 3}
    assert found.fingerprint == load_dataset(gensearch.DATASET, "test,train,dev", folder).fingerprint
    assert len(metaeval.pairs(dataset="gensearch", split="all", data=folder)) == 9


def test_a_metric_that_was_fitted_on_a_part_of_the_pool_says_so(monkeypatch, folder):
    from metaeval.config import RunConfig
    from metaeval.runs.prepared_run import prepare
    from metaeval.runs.score_columns import is_fitted_on
    from metrics_zoo.overlap import Overlap

    job = prepare(RunConfig(dataset="gensearch", split="all", data=folder))
    assert job.split == "train+dev+test"
    monkeypatch.setattr(Overlap, "card", replace(Overlap.card, fitted_on=("gensearch/dev",)))
    assert is_fitted_on(Overlap(), job)
    assert not is_fitted_on(Overlap(), replace(job, split="train+test"))


def test_a_data_set_of_ones_own_pools_what_its_card_names(tmp_path):
    def load(split, paths, options):
        ((_, path),) = paths.items()
        return corpus(f"own/{split}", (f"{split}0", split, split, path.read_text(), FULL))

    files = {split: (SourceFile(f"{split}.txt", ""),) for split in ("a", "b", "c")}
    for split in files:
        (tmp_path / f"{split}.txt").write_text(f"Page {split}.")
    card = Dataset("own", "t", "o", "l", "s", load, folder="own", files=files, default_split="a", pooled=("a", "c"))
    assert [citation.id for citation in load_dataset(card, "all", tmp_path).citations] == ["a0", "c0"]
    assert load_dataset(card, "a,b,c", tmp_path).name == "own/a+b+c"

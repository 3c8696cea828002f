"""The split `all` of a data set: what its files share stands once."""

import json
from dataclasses import replace

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders import gensearch, wice
from metaeval.corpus.loading import load_dataset, locate

SHARED = "judgements that another file of the split has too"


@pytest.mark.parametrize("split", ["train", "dev,test", ""])
def test_a_split_that_a_data_set_lacks_is_one_sentence(split, tmp_path):
    for use in (load_dataset, locate):
        with pytest.raises(UserError, match=rf"Unknown split of wice '{split}'\..* Known: all, dev, test\."):
            use(wice.DATASET, split, tmp_path)


def judgement(number, level, **changes):
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
        **changes,
    }


@pytest.fixture
def folder(tmp_path):
    """GenSearch's three files of judgements, with one row of each level in each."""
    for place, split in enumerate(("train", "dev", "test")):
        rows = [judgement(3 * place + number, level) for number, level in enumerate(gensearch.JUDGEMENTS)]
        write(tmp_path, split, rows)
    return tmp_path


def write(folder, split, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"verifiability_judgments_{split}.jsonl.gz").write_text(text)


def test_a_judgement_that_two_files_have_is_read_once_and_counted(folder):
    again = [judgement(0, "complete_support"), judgement(2, "no_support"), judgement(1, "no_support")]
    # Twice in one file is two citations of one page; another level is another judgement.
    write(folder, "test", [*again, judgement(7, "no_support"), judgement(7, "no_support")])
    found = load_dataset(gensearch.DATASET, "all", folder)
    assert found.level_counts() == {"full": 2, "partial": 2, "none": 2 + 1 + 2}
    assert found.dropped == {SHARED: 2}
    assert len(found.statements) == len(found.documents) == 7
    assert load_dataset(gensearch.DATASET, "test", folder).dropped == {}


def test_a_metric_that_was_fitted_on_a_part_of_all_says_so(monkeypatch, folder):
    from metaeval.core.config import RunConfig
    from metaeval.runs.data import prepare
    from metaeval.runs.score import is_fitted_on
    from metrics_zoo.overlap import Overlap

    job = prepare(RunConfig(dataset="gensearch", split="all", data=folder))
    assert job.split == "all"
    monkeypatch.setattr(Overlap, "card", replace(Overlap.card, fitted_on=("gensearch/dev",)))
    assert is_fitted_on(Overlap(), job)
    assert is_fitted_on(Overlap(), replace(job, split="dev"))
    assert not is_fitted_on(Overlap(), replace(job, split="test"))
    monkeypatch.setattr(Overlap, "card", replace(Overlap.card, fitted_on=("gensearch/all",)))
    assert is_fitted_on(Overlap(), replace(job, split="test"))
    assert not is_fitted_on(Overlap(), replace(job, name="wice"))

import json

import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.corpus.loaders.wiki_citations import DATASET, FIFTH_MODEL, FOUR_MODELS, MODELS, PAGES, VERDICTS
from metaeval.corpus.loading import check_options, load_dataset

QUICK = {"interval": {"resamples": 50}, "comparison": {"permutations": 50}}


def page(number, label, text="Words of the page."):
    fields = {"id": f"row_{number}", "article_title": f"Article {number // 2}", "source_url": f"https://p/{number}"}
    return {**fields, "claim_text": f"Claim {number}.", "source_text": text, "ground_truth": label}


def verdict(number, model, said, label, error=None):
    return {
        **{"entry_id": f"row_{number}", "provider": model, "predicted_verdict": said},
        **{"ground_truth": label, "error": error},
    }


OPEN = [
    page(1, "Supported"),
    page(2, "Partially supported"),
    page(3, "Not supported", ""),
    page(4, "Source unavailable", ""),
]
FOUR = [
    verdict(1, "apertus-70b", "Partially supported", "Supported"),
    verdict(2, "apertus-70b", "ERROR", "Partially supported", "HTTP 402"),
    verdict(2, "qwen-sealion", "Source unavailable", "Not supported"),  # before the label was corrected
    verdict(3, "qwen-sealion", "Not supported", "Not supported"),
]


@pytest.fixture
def load(tmp_path):
    """Load rows made in a test as if they were the three published files."""

    def loaded(dataset, pages=OPEN, four=FOUR, **options):
        fifth = [verdict(1, "claude-sonnet-5", "Supported", "Supported")]
        for name, content in {PAGES: {"rows": pages}, FOUR_MODELS: four, FIFTH_MODEL: {"rows": fifth}}.items():
            (tmp_path / name).write_text(json.dumps(content))
        names = (PAGES, FOUR_MODELS, FIFTH_MODEL)
        return dataset.load("all", {name: tmp_path / name for name in names}, check_options(dataset, options))

    return loaded


def test_missing_verdicts_have_no_score_and_others_count_as_corrected_or_as_published(load):
    corpus = load(DATASET)
    assert [citation.id for citation in corpus.citations] == ["row_1", "row_2", "row_3"]
    assert corpus.dropped == {"the source was not available to the annotators": 1}
    assert corpus.scores["apertus-70b"] == {"row_1": 1.0, "row_2": None, "row_3": None}
    assert corpus.scores["qwen-sealion"] == {"row_1": None, "row_2": None, "row_3": 0.0}
    corrected, published = load(VERDICTS), load(VERDICTS, counting="published")
    assert {row.id: row.gold for row in corrected.rows} == {"row_1": 2.0, "row_2": 1.0, "row_3": 0.0}
    assert {row.id: row.gold for row in published.rows} == {"row_1": 2.0, "row_2": 0.0, "row_3": 0.0}
    assert corrected.scores["qwen-sealion"] == {"row_1": None, "row_2": None, "row_3": 0.0}
    assert published.scores["qwen-sealion"] == {"row_1": None, "row_2": 1.0, "row_3": 0.0}  # a wrong verdict
    assert "claude-sonnet-5" not in published.scores


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"four": [verdict(1, "gpt-9", "Supported", "Supported")]}, "field 'provider' is \"gpt-9\"; allowed: "),
        ({"four": [verdict(1, MODELS[0], "Yes", "Supported")]}, "field 'predicted_verdict' is \"Yes\"; allowed: "),
        ({"pages": [page(1, "Maybe")]}, "field 'ground_truth' is \"Maybe\"; allowed: "),
        ({"four": [verdict(9, MODELS[0], "Supported", "Supported")]}, "field 'entry_id' is \"row_9\"; allowed: "),
    ],
)
@pytest.mark.parametrize("dataset", [DATASET, VERDICTS])
def test_faulty_files_are_told(load, dataset, change, says):
    with pytest.raises(UserError) as raised:
        load(dataset, **change)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("counting", "accuracies"),
    [
        # benchmark/analysis.json, exactAccuracy of the four models: 84/155, 93/155, 91/186 and 124/186.
        ("published", (84 / 155, 93 / 155, 91 / 186, 124 / 186)),
        # Ours: without the verdicts "source unavailable", and with the two labels that were corrected since.
        ("corrected", (82 / 152, 91 / 146, 91 / 145, 122 / 183)),
    ],
)
def test_the_published_accuracies_come_out(real_folder, tmp_path, counting, accuracies):
    options = {"dataset": "wiki_verdicts", "data": real_folder, "results": tmp_path}
    changed = {} if counting == "corrected" else {"counting": counting}
    chosen = {"dataset_options": changed, "protocols": ["verdicts"]}
    (result,) = metaeval.evaluate(**chosen, **options, **QUICK)
    values = {row.metric: row.values["accuracy"].value for row in result.rows if row.kind == "metric"}
    assert [values[model] for model in MODELS[:4]] == pytest.approx(accuracies, abs=1e-12)
    # The published values are of 186 citations with the labels of then; without these they are on other data.
    assert "exact accuracy (on full 80 / partial 59 / none 47)" in result.published
    differs = "186 pairs, here 187 of all" if counting == "corrected" else ""
    assert result.published_elsewhere == differs


def test_real_counts(real, real_folder):
    corpus = real(DATASET)
    # The list of development data, row wiki_citations.
    assert corpus.level_counts() == {"full": 82, "partial": 60, "none": 46}
    assert sum(bool(corpus.documents[citation.document_id].text) for citation in corpus.citations) == 182
    ratings = load_dataset(VERDICTS, None, real_folder, {"counting": "published"})
    assert len(ratings.rows) == 186


def test_published_scores_need_whole_citations_and_names_that_the_data_have(real_folder, tmp_path):
    options = {"dataset": "wiki_citations", "data": real_folder, "results": tmp_path}
    with pytest.raises(UserError, match="are of whole citations: add --unit citation"):
        metaeval.run(metrics=["published"], **options)
    with pytest.raises(UserError, match="Unknown metric 'gpt-9'"):
        metaeval.run(metrics=["gpt-9"], unit="citation", **options)
    with pytest.raises(UserError, match="No scores of 'published' were published with mini"):
        metaeval.run(metrics=["published"], unit="citation", results=tmp_path)

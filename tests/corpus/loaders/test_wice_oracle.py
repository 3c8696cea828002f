import json

import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.corpus.loaders.wice_oracle import CHAT, DATASET, T5


def chunk(claim, numbers, label="supported"):
    sentences = [f"Sentence {number} of {claim}." for number in numbers]
    meta = {"id": claim, "claim_title": "An Article", "chunk_idx": numbers}
    return {"label": label, "claim": f"Claim {claim}.", "evidence": sentences, "meta": meta}


CHUNKS = [chunk("a", [0, 4]), chunk("a", [2, 4]), chunk("b", [1], "not_supported")]


@pytest.fixture
def load(tmp_path):
    """Load files made in a test as if they were the published ones."""

    def loaded(chunks=CHUNKS, scores="0.1\n0.7\n0.4\n", split="first-100"):
        paths = {"oracle_chunks.test.jsonl": "".join(json.dumps(row) + "\n" for row in chunks)}
        paths |= {f"{model}.test.entailment_score.txt": scores for model in T5.values()}
        paths |= {f"{model}.test.entailment_score.json": '{\n "a": 0.5\n}' for model in CHAT.values()}
        for name, text in paths.items():
            (tmp_path / name).write_text(text)
        return DATASET.load("first-100", {name: tmp_path / name for name in paths}, {})

    return loaded


def test_a_claims_document_is_its_chunks_sentences_and_its_score_their_highest(load):
    corpus = load()
    document = corpus.documents[corpus.citations[0].document_id]
    assert document.sentences == ("Sentence 0 of a.", "Sentence 2 of a.", "Sentence 4 of a.")
    assert corpus.level_counts() == {"full": 1, "partial": 0, "none": 1}
    assert dict(load().scores) == {
        **{metric: {"a": 0.7, "b": 0.4} for metric in T5},
        **{metric: {"a": 0.5, "b": None} for metric in CHAT},
    }


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scores": "0.1\n0.2\n"}, "has 2 scores for 3 chunks"),
        ({"scores": "0.1\n0.2\nhigh\n"}, "line 3: field 'score' is \"high\"; allowed: a finite number"),
        ({"chunks": [{**CHUNKS[0], "evidence": ["One."]}, *CHUNKS[1:]]}, "allowed: 2 sentences, as chunk_idx has"),
    ],
)
def test_faulty_files_are_told(load, change, says):
    with pytest.raises(UserError) as raised:
        load(**change)
    assert says in str(raised.value)


# The one-vs-one ROC-AUCs of the published evaluations (model_outputs/*.test.evaluation.json, "roc").
PUBLISHED = {
    "T5-3B-ANLI": {"fs_ns": 1.0, "fs_ps": 0.9066002490660025, "ps_ns": 0.8657534246575342},
    "T5-3B-ANLI-WiCE": {"fs_ns": 1.0, "fs_ps": 0.9433374844333748, "ps_ns": 0.9616438356164383},
    "GPT-3.5": {"fs_ns": 1.0, "fs_ps": 0.539227895392279, "ps_ns": 0.9657534246575343},
    "GPT-4": {"fs_ns": 1.0, "fs_ps": 0.7889165628891657, "ps_ns": 0.9452054794520548},
}


def test_the_twelve_published_values_come_out(real_folder, tmp_path):
    options = {"dataset": "wice_oracle", "data": real_folder, "unit": "citation", "results": tmp_path}
    quick = {"interval": {"resamples": 50}, "comparison": {"permutations": 50}}
    (result,) = metaeval.run(metrics=["published"], protocols=["classification"], **options, **quick)
    rows = {row.metric: row.values for row in result.rows if row.kind == "metric"}
    values = {metric: {key: row[key].value for key in PUBLISHED[metric]} for metric, row in rows.items()}
    assert values == {metric: pytest.approx(expected, abs=1e-12) for metric, expected in PUBLISHED.items()}
    # The shipped table of published values has the same, to its digits.
    printed = {metric: {key: row[key].published for key in PUBLISHED[metric]} for metric, row in rows.items()}
    assert printed == {metric: pytest.approx(expected, abs=5e-6) for metric, expected in PUBLISHED.items()}


def test_real_counts(real):
    # In either split, the chunks hold an earlier label of one claim than wice does.
    counts = {split: real(DATASET, split).level_counts() for split in DATASET.files}
    assert counts == {
        "first-100": {"full": 22, "partial": 73, "none": 5},
        "test": {"full": 110, "partial": 216, "none": 32},
        "dev": {"full": 114, "partial": 192, "none": 43},
        "all": {"full": 224, "partial": 408, "none": 75},
    }

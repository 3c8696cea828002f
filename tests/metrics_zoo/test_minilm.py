"""The MiniLM metrics against their definitions, computed one text at a time on plain transformers."""

import json
from importlib.metadata import distribution
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.scoring.backends import minilm  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.minilm import MiniLMBERTScore, MiniLMCosine, MiniLMOptions  # noqa: E402

MINI = Path(__file__).parents[2] / "metaeval" / "corpus" / "loaders" / "mini.jsonl"


@pytest.fixture(scope="module")
def folder():
    found = distribution(minilm.FILES.package)
    return Path(str(found.locate_file(minilm.FILES.folder)))


@pytest.fixture(scope="module")
def pairs():
    """27 pairs of real sentences and paragraphs, of very different lengths."""
    rows = [json.loads(line) for line in MINI.read_text(encoding="utf-8").splitlines()]
    documents = [row["sentences"] for row in rows if row["type"] == "document"]
    statements = [row["text"] for row in rows if row["type"] == "statement"]
    sources = [" ".join(sentences[: 1 + number % 9]) for number, sentences in enumerate(documents)]
    return [(sources[number % len(sources)], statement) for number, statement in enumerate(statements[:27])]


@pytest.fixture(scope="module")
def reference(folder):
    """Hidden states of one text, by AutoModel and AutoTokenizer from the folder as it was published."""
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def states(text, limit=512):
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=limit, padding=False)
        with torch.inference_mode():
            return model(**inputs).last_hidden_state[0]

    return states


# Precision by bert-score 0.3.13 on transformers 5.23.0 and torch 2.13.0 (CPU): score(statements, sources,
# model_type=FOLDER, num_layers=6), FOLDER being the packaged model; no idf, no rescaling. The last is cut at 512.
OFFICIAL = json.loads(Path(__file__).with_name("minilm_official.json").read_text(encoding="utf-8"))


def test_bertscore_explains_its_mean(pairs):
    # The score is the mean of the statement's cosines; each names the source token that it is the cosine with.
    metric = MiniLMBERTScore()
    for source, statement in pairs[:3]:
        metric.prepare([source], [statement])
        spans = metric.explain(source, statement)
        own = [span.weight for span in spans if span.side == "statement"]
        assert sum(own) / len(own) == pytest.approx(metric.score([source], [statement])[0].score, abs=1e-5)
    spans = metric.explain("The harbour board met.", "A board")
    words = {(span.side, span.link): (span.start, span.end) for span in spans}
    link = next(link for (side, link), place in words.items() if side == "statement" and place == (2, 7))
    assert words["source", link] == (12, 17)


def test_bertscore_is_what_the_official_package_computes():
    answers = score_pairs(MiniLMBERTScore(), [(source, statement) for source, statement, _ in OFFICIAL]).answers
    assert [answer.score for answer in answers] == pytest.approx([score for *_, score in OFFICIAL], abs=1e-6)
    assert [answer.cut > 0 for answer in answers] == [False] * 4 + [True]


def test_cosine_is_what_sentence_transformers_computes(pairs, folder):
    library = pytest.importorskip("sentence_transformers", reason="comes with the extra 'dev'")
    model = library.SentenceTransformer(str(folder), device="cpu")
    few = pairs[:9]  # a source of each length from one sentence to nine
    ours = [answer.score for answer in score_pairs(MiniLMCosine(MiniLMOptions(max_tokens=256)), few).answers]
    sources, statements = (model.encode(list(side), normalize_embeddings=True) for side in zip(*few, strict=True))
    assert ours == pytest.approx((sources * statements).sum(axis=1).tolist(), abs=1e-5)


def test_a_long_source_loses_its_end_and_the_loss_is_counted(reference):
    source, statement = "The river rose quickly. " * 200, "The river rose."
    answer = score_pairs(MiniLMCosine(MiniLMOptions(max_tokens=64)), [(source, statement)]).answers[0]
    one, other = reference(source, 64).mean(0), reference(statement, 64).mean(0)
    assert answer.score == pytest.approx(float(torch.cosine_similarity(one, other, dim=0)), abs=1e-5)
    # 5 tokens a sentence (the river rose quickly .) and two special ones; the statement has 4 and two
    assert (answer.tokens, answer.cut) == (5 * 200 + 2 + 6, 5 * 200 + 2 - 64)


def test_each_text_is_encoded_once_however_many_pairs_it_is_in(pairs, watch):
    sources, statements = {source for source, _ in pairs}, {statement for _, statement in pairs}
    crossed = [(source, statement) for source in sources for statement in statements]
    metric = type("SmallBlocks", (MiniLMBERTScore,), {"block_tokens": 2000})()
    passed = watch(metric.texts.encoder._model)
    score_pairs(metric, crossed)
    assert len(crossed) == len(sources) * len(statements) > 500
    assert metric.observed() == MiniLMCosine().observed() != MiniLMCosine(MiniLMOptions(max_tokens=9)).observed()
    assert passed.texts == len(sources) + len(statements)

"""SummaC-ZS, and the NLI image that both SummaCs read.

Official scores: summac 0.0.4 unmodified on transformers 4.30.2, a tiny ALBERT (tests/golden/metrics/summac_zs.json).
Everything else is compared with `slow_image`, written here from the definition: plain transformers, one pair of units
at a time.
"""

import functools
import json
import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from metaeval.core.declared import validated
from metaeval.core.errors import UserError
from metaeval.corpus.sentences import split_sentences
from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_jointly, score_pairs
from metrics_zoo.summac import SummaCConv, SummaCZS
from metrics_zoo.summac_image import MODELS, cut_units, label_order, unseen_tokens
from tests.metrics_zoo.stand_ins import conv

torch = pytest.importorskip("torch", reason="SummaC needs the extra 'models'")

LABELS = {0: "SUPPORTS", 1: "REFUTES", 2: "NOT ENOUGH INFO"}
SENTENCES = [
    "The Kestrel lighthouse was built in 1871 on a basalt ridge north of the harbour.",
    "It was automated in 1983 and is run by a local trust.",
    "The trial enrolled 240 adults with mild asthma.",
    "No difference in lung function was found after twelve weeks.",
    "Sourdough rises slowly because wild yeast is less active than the yeast that bakers buy.",
    "Kettles get hot.",
    "In São Paulo there is a café with a naïve façade, and it was full.",
    "Water boils at 93 degrees on a mountain of 2,000 metres!",
    "Is that so?",
    "No. Yes.",
]


def texts(count, seed, sentences=(1, 5)):
    rng = random.Random(seed)
    return [" ".join(rng.choices(SENTENCES, k=rng.randint(*sentences))) for _ in range(count)]


def made_pairs(sources, statements, seed=1):
    said, told = texts(sources, seed), texts(statements, seed + 100, (1, 3))
    return [(source, statement) for source in said for statement in told]


@pytest.fixture(scope="module")
def folder(tiny):
    return tiny.folder("albert", id2label=LABELS, hidden_act="gelu_new", max_position_embeddings=512)


def zs(folder, **options):
    return SummaCZS(SummaCZS.Options(model=folder, **{"splitter": "rules", **options}))


def scores(metric, pairs):
    return [answer.score for answer in score_pairs(metric, pairs).answers]


def units(text, granularity):
    """From the paper's definition, by the project's own rules for sentences."""
    if granularity == "document":
        return [text]
    if granularity == "paragraph":
        lines = text.split("\n\n") if text.count("\n\n") else text.split("\n")
        return [line.strip() for line in lines if len(line.strip()) > 10]
    sentences = [sentence for sentence in split_sentences(text) if len(sentence) > 10]
    if granularity == "2sents":
        return [" ".join([one, *sentences[number + 1 : number + 2]]) for number, one in enumerate(sentences)]
    return sentences


@functools.cache
def slow_image(folder, source, statement, granularity="sentence", order=(0, 1, 2)):
    """(3, source units, statement units), each unit pair through the model alone; None where a side has no unit."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    one, other = granularity.split("-") if "-" in granularity else (granularity, granularity)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = units(source, one)[:100]
    columns = units(statement, other)
    if not rows or not columns:
        return None
    image = np.zeros((3, len(rows), len(columns)))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            given = tokenizer(
                [row], [column], truncation=True, max_length=500, return_token_type_ids=True, return_tensors="pt"
            )
            if model.config.type_vocab_size < 2:
                del given["token_type_ids"]
            with torch.no_grad():
                image[:, i, j] = model(**given).logits.softmax(-1)[0, list(order)].numpy()
    return image


@pytest.fixture
def official_zs(official_summac):
    return partial(official_summac, SummaCZS)


def test_the_official_images(golden, official_zs):
    official = golden.official("summac_zs")
    images = official_zs().observe(*zip(*golden.pairs, strict=True))
    assert [list(image.values.shape) for image in images] == official["image_shapes_3_src_stmt"]
    sums = [image.values.sum(axis=(1, 2)).tolist() for image in images]
    for found, expected in zip(sums, official["image_sums_ent_con_neu"], strict=True):
        assert found == pytest.approx(expected, abs=1e-5)
    assert all(image.values.dtype == np.float32 for image in images)


def test_pairs_without_a_unit_have_a_status_in_place_of_the_official_zero(golden, official_zs):
    answers = dict(zip(golden.ids, score_pairs(official_zs(fallback=False), golden.pairs).answers, strict=True))
    without = {name: answer.status for name, answer in answers.items() if answer.score is None}
    assert without == {
        "p06_empty_source": Status.EMPTY,
        "p07_empty_statement": Status.EMPTY,
        "p12_whitespace_only_statement": Status.EMPTY,
    }


def test_dropped_segment_ids_give_the_wrong_scores_of_the_golden_file(golden, official_zs):
    """The trap of transformers 5: ALBERT's tokenizer leaves them out unless asked."""
    official = golden.official("summac_zs")
    metric = official_zs()
    metric.model._segments = False
    wrong = official["WRONG_scores_on_5.23_without_token_type_ids"]
    assert scores(metric, golden.pairs) == pytest.approx(wrong, abs=1e-5)
    right = scores(official_zs(), golden.pairs)
    judged = [abs(one - other) for one, other in zip(right, wrong, strict=True) if one != 0.0]
    assert len(judged) == 10
    assert min(judged) > 0.01


@pytest.mark.parametrize("granularity", ["sentence", "document", "2sents", "paragraph-sentence", "document-2sents"])
def test_images_are_those_of_one_pass_at_a_time(folder, granularity):
    pairs = [
        *zip(texts(4, 3), texts(4, 4, (1, 3)), strict=True),
        ("First paragraph, of one line.\n\nSecond paragraph.\nStill the second.\n\nshort", SENTENCES[0]),
        ("One line of text.\nAnother line of text.", SENTENCES[1]),
    ]
    if granularity == "document":
        pairs = pairs[:4]  # the official piece for white space is held to the golden file, not to transformers 5
    images = zs(folder, granularity=granularity).observe(*zip(*pairs, strict=True))
    for pair, image in zip(pairs, images, strict=True):
        expected = slow_image(folder, *pair, granularity)
        if expected is None:
            assert image.status is not Status.OK
        else:
            assert image.values.shape == expected.shape
            np.testing.assert_allclose(image.values, expected, atol=1e-5)


@pytest.mark.parametrize("op1", ["max", "mean", "min"])
@pytest.mark.parametrize("op2", ["max", "mean", "min"])
@pytest.mark.parametrize("used", ["both", "entailment", "contradiction"])
def test_every_way_to_gather(folder, op1, op2, used):
    source, statement = " ".join(SENTENCES[:4]), " ".join(SENTENCES[4:7])
    image = slow_image(folder, source, statement)
    per_claim = []
    for claim in range(image.shape[2]):
        over_source = {"max": max, "min": min, "mean": lambda row: sum(row) / len(row)}[op1]
        entailment, contradiction = over_source(image[0, :, claim]), over_source(image[1, :, claim])
        alone = {"entailment": entailment, "contradiction": 1 - contradiction, "both": entailment - contradiction}
        per_claim.append(alone[used])
    expected = {"max": max, "min": min, "mean": lambda row: sum(row) / len(row)}[op2](per_claim)
    metric = zs(folder, op1=op1, op2=op2, use_ent=used != "contradiction", use_con=used != "entailment")
    assert scores(metric, [(source, statement)]) == pytest.approx([expected], abs=1e-5)


@pytest.mark.parametrize(("kind", "name"), [("roberta", "mnli"), ("deberta", "mnli-base"), ("roberta", "anli")])
def test_other_models_by_name_are_read_in_their_own_label_order(tiny, kind, name):
    order = MODELS[name].order
    words = dict(zip(order, ("ENTAILMENT", "CONTRADICTION", "NEUTRAL"), strict=True))
    made = tiny.folder(kind, name=name, id2label=words)
    pairs = made_pairs(2, 2)
    for pair, image in zip(pairs, zs(made).observe(*zip(*pairs, strict=True)), strict=True):
        np.testing.assert_allclose(image.values, slow_image(made, *pair, order=order), atol=1e-5)


def test_units_of_more_than_500_tokens_lose_the_end_of_the_longer_side(folder):
    long = "word by word the trial went on " * 120
    pairs = [(long, SENTENCES[0]), (SENTENCES[0], long), (long, long[5:]), (long[:1500], long)]
    metric = zs(folder)
    images = metric.observe(*zip(*pairs, strict=True))
    for pair, image in zip(pairs, images, strict=True):
        np.testing.assert_allclose(image.values, slow_image(folder, *pair), atol=1e-5)
    for pair, answer in zip(pairs, metric.judge(images), strict=True):
        sizes = [len(ids) for ids in metric.tokens.texts.ids(pair[number].strip() for number in (0, 1)).values()]
        assert answer.tokens == sum(sizes)
        assert answer.cut == sum(sizes) - 497  # 500 less [CLS] and two [SEP]


def test_zs_and_conv_pass_every_two_units_of_a_block_once(folder, conv_file, watch):
    pairs = made_pairs(8, 6)
    first = zs(folder)
    second = SummaCConv(SummaCConv.Options(model=folder, splitter="rules", conv_weights=conv_file))
    assert first.observed() == second.observed()
    passed = watch(first.model._model)
    one, other = score_jointly([first, second], pairs)
    compared = {
        (a, b) for source, statement in pairs for a in units(source, "sentence") for b in units(statement, "sentence")
    }
    assert passed.texts == len(compared)
    assert "model" not in vars(second)  # never loaded
    assert [answer.score for answer in one.answers] == pytest.approx(scores(zs(folder), pairs), abs=1e-6)
    alone = SummaCConv(SummaCConv.Options(model=folder, splitter="rules", conv_weights=conv_file))
    assert [answer.score for answer in other.answers] == pytest.approx(scores(alone, pairs), abs=1e-6)


@pytest.fixture(scope="module")
def conv_file(tmp_path_factory):
    return conv(tmp_path_factory.mktemp("conv") / "conv.bin")


def test_the_first_hundred_source_units_count(folder):
    source = " ".join(f"The harbour was built in the year {year}." for year in range(1700, 1850))
    metric = zs(folder)
    (image,) = metric.observe([source], [SENTENCES[0]])
    assert image.values.shape == (3, 100, 1)
    late = [f"The harbour was built in the year {year}." for year in range(1800, 1850)]
    (answer,) = metric.judge([image])
    sizes = metric.tokens.texts.ids(late)
    assert answer.cut == sum(len(sizes[sentence]) for sentence in late)
    head = " ".join(f"The harbour was built in the year {year}." for year in range(1700, 1800))
    assert answer.score == pytest.approx(scores(zs(folder), [(head, SENTENCES[0])])[0], abs=1e-6)


def test_sentences_of_ten_characters_are_no_units():
    found = cut_units("1234567890|12345678901|123", "sentence", lambda text: text.split("|"))
    assert found == (["12345678901"], ["1234567890", "123"])
    found = cut_units("1234567890|12345678901|second sentence|last sentence", "2sents", lambda text: text.split("|"))
    assert found.kept == ["12345678901 second sentence", "second sentence last sentence", "last sentence"]


def test_unseen_tokens_are_those_that_the_tokenizer_cuts():
    """Against the tokenizers library's own longest-first truncation of made-up words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    raw = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.enable_truncation(11, strategy="longest_first")
    rng = random.Random(0)
    for _ in range(200):
        sources, statements = ([rng.randint(1, 14) for _ in range(rng.randint(1, 3))] for _ in range(2))
        kept = [[raw.encode("a " * one, "b " * other).type_ids for other in statements] for one in sources]
        seen_sources = [max(ids.count(0) for ids in row) for row in kept]
        seen_statements = [max(ids.count(1) for ids in column) for column in zip(*kept, strict=True)]
        cut = np.maximum(np.add.outer(sources, statements) - 11, 0)
        unread, unseen = unseen_tokens(np.array(sources), np.array(statements), cut)
        assert unread.tolist() == [size - seen for size, seen in zip(sources, seen_sources, strict=True)]
        assert unseen.tolist() == [size - seen for size, seen in zip(statements, seen_statements, strict=True)]


def test_words_without_a_unit_are_nothing_to_score(folder):
    metric = zs(folder)
    (answer,) = score_pairs(metric, [("Yes. No. So it is.", "It was open all day long.")]).answers
    assert (answer.score, answer.status) == (None, Status.NOTHING_TO_SCORE)
    assert answer.tokens == answer.cut > 0
    (other,) = score_pairs(zs(folder, fallback=True), [("Yes. No. So it is.", "It was open all day long.")]).answers
    assert (other.score, other.status) == (0.0, Status.OK)
    # Nothing entails and nothing contradicts: 1 - 0 where contradiction alone counts, as the official code has it.
    inverse = zs(folder, fallback=True, use_ent=False)
    assert scores(inverse, [("Yes.", "It was open all day long.")]) == [1.0]


def test_the_identity_holds_what_changes_a_score(folder):
    base = zs(folder).identity()
    assert json.loads(json.dumps(base)) == base
    assert base["labels"] == [0, 1, 2]
    assert base["splitter"].startswith("rules")
    assert zs(folder, batch_tokens=512, device="cpu").identity() == base
    for option in ({"granularity": "document"}, {"op1": "mean"}, {"use_con": False}, {"fallback": True}):
        assert zs(folder, **option).identity() != base
    assert zs(folder, granularity="document").identity()["splitter"] == "none"
    assert zs(folder, op1="min", fallback=True).observed() == zs(folder).observed()
    assert zs(folder, granularity="document").observed() != zs(folder).observed()


def test_wrong_options_are_one_sentence():
    for options, words in json.loads(Path(__file__).with_name("summac_refused.json").read_text(encoding="utf-8")):
        with pytest.raises(UserError, match=words):
            validated(SummaCZS.Options, options, "the options of metric summac-zs")


def test_labels_are_checked():
    words = {0: "contradiction", 1: "neutral", 2: "entailment"}
    assert label_order({"id2label": words}, "someone/some-nli") == (2, 0, 1)
    generic = {"id2label": {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}}
    assert label_order(generic, "vitc-only") == (0, 1, 2)
    assert label_order(generic, "ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli") == (0, 2, 1)
    with pytest.raises(UserError, match="three-way"):
        label_order(generic, "someone/some-nli")
    with pytest.raises(UserError, match="three-way"):
        label_order({"id2label": {0: "entailment", 1: "not_entailment"}}, "vitc")
    with pytest.raises(UserError, match="not in the published order"):
        label_order({"id2label": words}, "vitc")

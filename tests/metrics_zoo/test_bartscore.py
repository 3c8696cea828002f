"""BARTScore against the definition, one pair at a time."""

import json
import math
import shutil
from statistics import mean

import pytest

from metaeval.core.errors import UserError
from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_jointly, score_pairs
from metrics_zoo.bartscore import BARTScore

KETTLE = "Kettles with a steel body get hot during use, so hold them by the handle."
TRIAL = "The trial enrolled 240 adults with mild asthma; no difference was found after twelve weeks."
PAIRS = [
    (KETTLE, "A steel kettle is hot."),
    (KETTLE, "The trial enrolled 240 adults."),
    (KETTLE, "Hold it!"),
    (TRIAL, "The trial enrolled 240 adults."),
    (TRIAL, "Überraschung! Ein Café in São Paulo, 東京 and Москва 🙂"),
    ("", "Nothing was read."),
    ("x", "y"),
    ("The <pad> token and </s> are text too.", "A <pad> is <s> text <pad>"),
    (" white  space\n\tand\nlines ", "  It is kept.  "),
    (f"{TRIAL} {KETTLE} " * 60, "A text beyond the limit."),  # 1,920 words
    (KETTLE, f"{TRIAL} " * 130),  # 1,950 words
]


def scored(folder, pairs, **options):
    answers = score_pairs(BARTScore(BARTScore.Options(model=folder, **options)), pairs).answers
    return [answer.score for answer in answers]


class Slow:
    """The definition on plain transformers: one pair, no batch, padding, cache or attention of ours."""

    def __init__(self, folder):
        from transformers import AutoTokenizer, BartForConditionalGeneration

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = BartForConditionalGeneration.from_pretrained(folder).eval()

    def token_scores(self, source, statement):
        """log p of <s>, each token and </s>, decoder inputs shifted right by transformers itself."""
        import torch

        read, labels = (
            self.tokenizer(text, max_length=1024, truncation=True, return_tensors="pt")["input_ids"]
            for text in (source, statement)
        )
        with torch.no_grad():
            logits = self.model(input_ids=read, labels=labels).logits[0].double()
        found = [float(row.log_softmax(0)[label]) for row, label in zip(logits, labels[0], strict=True)]
        # The official NLLLoss(ignore_index=pad) drops a padding token from the sum; its mask keeps it in the count.
        return [
            0.0 if label == self.model.config.pad_token_id else one
            for one, label in zip(found, labels[0].tolist(), strict=True)
        ]

    def score(self, source, statement):
        return mean(self.token_scores(source, statement))


SHAPES = {
    "as the others": {},
    "uneven": {"encoder_layers": 1, "decoder_layers": 3, "decoder_attention_heads": 2, "decoder_ffn_dim": 40},
    "scaled embeddings, relu": {"scale_embedding": True, "activation_function": "relu"},
    "a vocabulary of three blocks": {"vocab_size": 9000},
}


@pytest.fixture(scope="module")
def biased(tiny, tmp_path_factory):
    """A BART whose vocabulary head has a bias other than 0."""
    import torch
    from transformers import AutoTokenizer, BartForConditionalGeneration

    plain, folder = tiny.folder("bart", vocab_size=9000), tmp_path_factory.mktemp("biased")
    model = BartForConditionalGeneration.from_pretrained(plain)
    model.final_logits_bias.copy_(torch.randn(1, 9000, generator=torch.Generator().manual_seed(3)))
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(plain).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("shape", SHAPES)
def test_the_definition(tiny, shape):
    folder = tiny.folder("bart", **SHAPES[shape])
    slow = Slow(folder)
    expected = [slow.score(*pair) for pair in PAIRS]
    assert scored(folder, PAIRS) == pytest.approx(expected, abs=1e-5)
    reverse = [slow.score(statement, source) for source, statement in PAIRS]
    assert scored(folder, PAIRS, direction="statement-to-source", fallback=True) == pytest.approx(reverse, abs=1e-5)
    both = [mean(pair) for pair in zip(expected, reverse, strict=True)]
    assert scored(folder, PAIRS, direction="mean", fallback=True) == pytest.approx(both, abs=1e-5)


def test_the_head_has_its_bias(tiny, biased):
    slow = Slow(biased)
    ours = scored(biased, PAIRS)
    assert ours == pytest.approx([slow.score(*pair) for pair in PAIRS], abs=1e-5)
    without = scored(tiny.folder("bart", vocab_size=9000), PAIRS)
    assert max(abs(a - b) for a, b in zip(ours, without, strict=True)) > 0.1


def test_each_source_is_encoded_once_and_nothing_is_padded(tiny):
    """Rows counted by hooks inside transformers' layers: 3 sources, 8 statements of many lengths, 24 pairs."""
    from transformers import AutoTokenizer, BartForConditionalGeneration

    from metrics_zoo.bartscore import BartLikelihood

    folder = tiny.folder("bart")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BartForConditionalGeneration.from_pretrained(folder).eval()
    rows = {"encoder": 0, "decoder": 0, "keys": 0, "values": 0}

    def count(name):
        def hook(_module, given, _output):
            rows[name] += given[0].shape[:-1].numel()

        return hook

    layer = model.model.decoder.layers[-1]
    model.model.encoder.layers[-1].fc1.register_forward_hook(count("encoder"))
    layer.fc1.register_forward_hook(count("decoder"))
    layer.encoder_attn.k_proj.register_forward_hook(count("keys"))
    layer.encoder_attn.v_proj.register_forward_hook(count("values"))

    sources = [KETTLE, TRIAL, f"{TRIAL} {KETTLE} " * 5]
    statements = [" ".join(TRIAL.split()[:words]) for words in (1, 2, 3, 5, 8, 9, 11, 14)]
    pairs = [(source, statement) for statement in statements for source in sources]  # no source stands together
    ours = BartLikelihood(model, tokenizer, 1024, 2048, "cpu")
    ours.mean_log_likelihoods(*zip(*pairs, strict=True))
    of_sources = sum(len(tokenizer(text)["input_ids"]) for text in sources)
    of_statements = sum(len(tokenizer(statement)["input_ids"]) for _, statement in pairs)
    assert rows == {"encoder": of_sources, "decoder": of_statements, "keys": of_sources, "values": of_sources}
    assert ours.texts.calls == 11


def test_a_source_of_more_statements_than_a_batch_holds_is_still_encoded_once(tiny):
    pairs = [(TRIAL, f"Statement {number} of many.") for number in range(40)]
    folder = tiny.folder("bart")
    metric = BARTScore(BARTScore.Options(model=folder, batch_tokens=64))
    encoded = []
    metric.model._encoder.layers[0].register_forward_pre_hook(lambda layer, given: encoded.append(given[0].shape[1]))
    answers = [answer.score for answer in metric.score(*zip(*pairs, strict=True))]
    assert encoded == [metric.model.read([TRIAL])[TRIAL].tokens]
    slow = Slow(folder)
    assert answers == pytest.approx([slow.score(*pair) for pair in pairs], abs=1e-5)


def test_both_transforms_come_from_one_pass(tiny):
    folder = tiny.folder("bart")
    plain, exponential = (BARTScore(BARTScore.Options(model=folder, transform=name)) for name in ("none", "exp"))
    assert plain.observed() == exponential.observed()
    first, second = score_jointly([plain, exponential], PAIRS)
    assert "model" not in vars(exponential)  # never loaded
    for one, other in zip(first.answers, second.answers, strict=True):
        assert other.score == pytest.approx(math.exp(one.score))
    assert first.identity != second.identity
    assert (plain.card.low, plain.card.high) == (None, 0.0)
    assert (exponential.card.low, exponential.card.high) == (0.0, 1.0)
    assert BARTScore.card.low is None


def test_a_statement_without_words_has_no_score_unless_wished_for(tiny):
    folder = tiny.folder("bart")
    pairs = [(KETTLE, ""), (KETTLE, " \n "), ("", ""), ("", "Nothing was read.")]
    metric = BARTScore(BARTScore.Options(model=folder))
    statuses = [answer.status for answer in score_pairs(metric, pairs).answers]
    assert statuses == [Status.EMPTY, Status.EMPTY, Status.EMPTY, Status.OK]
    slow = Slow(folder)
    assert scored(folder, pairs, fallback=True) == pytest.approx([slow.score(*pair) for pair in pairs], abs=1e-5)


@pytest.mark.parametrize("direction", ["statement-to-source", "mean"])
def test_a_source_that_is_judged_needs_words(tiny, direction):
    metric = BARTScore(BARTScore.Options(model=tiny.folder("bart"), direction=direction))
    answers = score_pairs(metric, [("", "Nothing was read."), (KETTLE, ""), (KETTLE, "Hold it!")]).answers
    assert [answer.status for answer in answers] == [Status.EMPTY, Status.EMPTY, Status.OK]


@pytest.mark.parametrize("direction", ["source-to-statement", "mean"])
def test_what_is_cut_is_counted_on_both_sides(tiny, direction):
    folder = tiny.folder("bart")
    metric = BARTScore(BARTScore.Options(model=folder, direction=direction))
    tokenizer = Slow(folder).tokenizer
    for (source, statement), answer in zip(PAIRS, score_pairs(metric, PAIRS).answers, strict=True):
        sizes = [len(tokenizer(text, truncation=False)["input_ids"]) for text in (source, statement)]
        assert (answer.tokens, answer.cut) == (sum(sizes), sum(max(size - 1024, 0) for size in sizes))
    assert sum(answer.cut > 0 for answer in score_pairs(metric, PAIRS).answers) == 2


def test_a_classifier_on_bart_is_refused(tiny, tmp_path):
    folder = shutil.copytree(tiny.folder("bart"), tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BartForSequenceClassification"]}))
    with pytest.raises(UserError, match="a BartForSequenceClassification; allowed: a BART"):
        BARTScore(BARTScore.Options(model=folder)).prepare([], [])

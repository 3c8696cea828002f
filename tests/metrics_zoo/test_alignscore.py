"""AlignScore against the official code's outputs (yuh-zha/AlignScore a0936d5, run on a tiny RoBERTa), and against its
definition, one pair at a time on plain transformers."""

import functools
import math
import random
from functools import partial

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.core.errors import UserError  # noqa: E402
from metaeval.corpus.sentences import split_sentences  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.alignscore import AlignScore, AlignScoreOptions  # noqa: E402
from tests.metrics_zoo.stand_ins import alignscore, sentences  # noqa: E402

THREE = ("dense.weight", "dense.bias", "LayerNorm.weight")
MODES = ("nli_sp", "bin_sp", "reg_sp", "nli", "bin", "reg")


def test_chunks_and_sentences_are_the_official_ones(golden, punkt):
    metric = AlignScore(AlignScoreOptions(model=golden.models))
    shapes = [[len(metric._chunks(source)), len(metric._sentences(statement))] for source, statement in golden.pairs]
    assert shapes == golden.official("alignscore")["chunks_x_statement_sentences"]


# From here on nothing is needed beside the project: a tiny RoBERTa made here.


@pytest.fixture(scope="module")
def make_folder(tiny):
    """Makes AlignScore's folder under a path, with some weights changed, or taken away by None."""
    return partial(alignscore, tiny.folder("roberta"))


@pytest.fixture(scope="module")
def folder(make_folder, tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("alignscore") / "it")


@pytest.fixture(scope="module")
def pairs():
    rng = random.Random(1)
    sources = [*(sentences(rng, count, 30) for count in (3, 8, 12, 50, 80)), "", "One. " + "word " * 900]
    statements = [*(sentences(rng, count, 30) for count in (1, 2, 3)), "Short. " + "word " * 520 + "end. Another one."]
    return [(source, statement) for source in sources for statement in statements]


@pytest.fixture(scope="module")
def by_definition(folder):
    """A slow path: one chunk and sentence at a time, no padding, transformers' own tokenizer, model and truncation."""
    state = torch.load(folder / "AlignScore-large.ckpt", weights_only=True)["state_dict"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "roberta-large")
    encoder = transformers.RobertaModel(transformers.RobertaConfig.from_pretrained(folder / "roberta-large")).eval()
    own = {name.removeprefix("base_model."): value for name, value in state.items() if name.startswith("base_model.")}
    encoder.load_state_dict({name: value for name, value in own.items() if not name.endswith("position_ids")})

    @functools.cache
    @torch.no_grad()
    def cell(chunk, sentence):
        try:
            given = tokenizer([chunk], [sentence], truncation="only_first", max_length=512, return_tensors="pt")
        except Exception:  # noqa: BLE001 (the official retry: the sentence alone is too long)
            given = tokenizer([chunk], [sentence], truncation="longest_first", max_length=512, return_tensors="pt")
        pooled = encoder(given["input_ids"], attention_mask=given["attention_mask"]).pooler_output[0]
        names = ("bin_layer", "tri_layer", "reg_layer")
        heads = [state[f"{layer}.weight"] @ pooled + state[f"{layer}.bias"] for layer in names]
        return {
            "bin": float(heads[0].softmax(0)[1]),
            "nli": float(heads[1].softmax(0)[0]),
            "reg": float(heads[2][0]),
            "three": heads[1].softmax(0),
        }

    def cells(source, statement, cut):
        if not cut:
            return [[cell(source, statement)]]
        units = list(split_sentences(source)) or [""]
        size = max(math.floor(len(units) / (math.floor(len(source.split()) / 350) + 1)), 1)
        chunks = [" ".join(units[start : start + size]) for start in range(0, len(units), size)]
        return [[cell(chunk, sentence) for sentence in split_sentences(statement)] for chunk in chunks]

    return cells


@pytest.mark.parametrize("mode", MODES)
def test_our_scores_are_those_of_the_definition(mode, folder, pairs, by_definition):
    metric = AlignScore(AlignScoreOptions(model=folder, mode=mode, splitter="rules"))
    head = mode.removesuffix("_sp")
    for pair, answer in zip(pairs, score_pairs(metric, pairs).answers, strict=True):
        rows = by_definition(*pair, cut=mode.endswith("_sp"))
        best = [max(row[column][head] for row in rows) for column in range(len(rows[0]))]
        assert answer.score == pytest.approx(sum(best) / len(best), abs=1e-5)


def test_the_explanation_is_the_best_chunk_of_each_sentence(folder, pairs):
    # The score is the mean over the statement's sentences of the best chunk's probability.
    metric = AlignScore(AlignScoreOptions(model=folder, splitter="rules"))
    for source, statement in pairs[:4]:
        spans = metric.explain(source, statement)
        own = [span for span in spans if span.side == "statement"]
        mean = sum(span.weight for span in own) / len(own)
        assert mean == pytest.approx(metric.score([source], [statement])[0].score, abs=1e-6)
        sentences = [sentence.split() for sentence in split_sentences(statement)]
        assert [statement[span.start : span.end].split() for span in own] == sentences
        chunks = {" ".join(chunk.split()) for chunk in metric._chunks(source)}
        assert {" ".join(source[span.start : span.end].split()) for span in spans if span.side == "source"} <= chunks
    texts = [f"So {'it ' * words}is. So {'it ' * 173}is." for words in (172, 173)]  # 349 and 350 words
    assert [len(metric._chunks(text)) for text in texts] == [1, 2]


def test_the_three_classes_are_those_of_the_chunk_that_scores(folder, pairs, by_definition):
    metric = AlignScore(AlignScoreOptions(model=folder, splitter="rules"))
    metric.prepare([], [])
    few = pairs[::5]
    found = metric.entail(*zip(*few, strict=True))
    scores = score_pairs(metric, few).answers
    for pair, three, answer in zip(few, found, scores, strict=True):
        columns = zip(*by_definition(*pair, cut=True), strict=True)
        chosen = [max(column, key=lambda one: one["nli"])["three"] for column in columns]
        assert [math.exp(value) for value in three] == pytest.approx(torch.stack(chosen).mean(0).tolist(), abs=1e-5)
        assert math.exp(three.entailment) == pytest.approx(answer.score, abs=1e-6)
        assert sum(math.exp(value) for value in three) == pytest.approx(1)
    assert [three is None for three in metric.entail(["A source."] * 2, [" ", "It is."])] == [True, False]


def test_no_vocabulary_head_is_built_or_run(folder):
    """NaN in the checkpoint's head changes nothing, and only the embeddings have a row for each word."""
    metric = AlignScore(AlignScoreOptions(model=folder, splitter="rules"))
    network = metric.model._model
    words = network.config.vocab_size
    shapes = {name: getattr(getattr(part, "weight", None), "shape", ()) for name, part in network.named_modules()}
    wide = [name for name, shape in shapes.items() if words in shape]
    assert wide == ["base_model.embeddings.word_embeddings"]
    assert math.isfinite(metric.score(["A lighthouse."], ["It was built."])[0].score)


def test_modes_that_cut_alike_share_their_pass(folder):
    def metric(mode, **given):
        return AlignScore(AlignScoreOptions(model=folder, splitter="rules", mode=mode, **given))

    assert metric("nli_sp").observed() == metric("reg_sp").observed() != metric("nli").observed()
    assert metric("nli").observed() == metric("bin").observed()
    assert metric("nli_sp").identity() != metric("reg_sp").identity()
    pair = (["It was built in 1871. It is a lighthouse."], ["The lighthouse was built. It is high."])
    seen = metric("bin_sp").observe(*pair)
    assert metric("reg_sp").judge(seen) == metric("reg_sp").score(*pair)


def test_what_is_cut_is_counted_over_all_passes(folder):
    metric = AlignScore(AlignScoreOptions(model=folder, splitter="rules"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "roberta-large")
    source, statement = "word " * 700, "One sentence. Another."
    lengths = [len(tokenizer(source.strip(), one)["input_ids"]) for one in ("One sentence.", "Another.")]
    (answer,) = metric.score([source], [statement])
    assert (answer.tokens, answer.cut) == (sum(lengths), sum(lengths) - 2 * 512)


def test_the_backbone_may_lie_beside_or_in_a_subfolder(folder, tmp_path):
    for place in ("flat", "bare"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "AlignScore-large.ckpt").write_bytes((folder / "AlignScore-large.ckpt").read_bytes())
    (tmp_path / "bare" / "config.json").write_bytes((folder / "roberta-large" / "config.json").read_bytes())
    for file in (folder / "roberta-large").iterdir():
        (tmp_path / "flat" / file.name).write_bytes(file.read_bytes())
    one, other = (AlignScore(AlignScoreOptions(model=place)).identity() for place in (folder, tmp_path / "flat"))
    assert one == other
    for place, size, lacks in ((tmp_path / "bare", "large", "of roberta-large"), (folder, "base", "AlignScore-base")):
        with pytest.raises(UserError, match=lacks):
            AlignScore(AlignScoreOptions(model=place, size=size)).identity()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tri_layer.weight": None}, "check 'size'"),
        ({f"base_model.encoder.layer.1.output.{of}": None for of in THREE}, r"weights of AlignScore \([^,]+, [^,]+ \."),
        ({"base_model.embeddings.word_embeddings.weight": (9, 32)}, "check 'size'"),
        ({"base_model.encoder.layer.1.output.dense.weight": (3, 3)}, "lacks weights"),
    ],
)
def test_a_checkpoint_that_is_not_alignscores_is_refused(make_folder, tmp_path, changes, said):
    changes = {name: shape and torch.zeros(shape) for name, shape in changes.items()}
    metric = AlignScore(AlignScoreOptions(model=make_folder(tmp_path / "it", **changes), splitter="rules"))
    with pytest.raises(UserError, match=said):
        metric.prepare([], [])

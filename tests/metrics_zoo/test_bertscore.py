"""BERTScore against the official package (bert-score 0.3.13 on a tiny DeBERTa), and against its definition."""

import csv
import functools
import math
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.core.config import RunConfig  # noqa: E402
from metaeval.core.errors import UserError  # noqa: E402
from metaeval.runs.metrics import load_metrics  # noqa: E402
from metaeval.scoring import contract  # noqa: E402
from metaeval.scoring.backends import text_encoder as encoders  # noqa: E402
from metaeval.scoring.contract import Status  # noqa: E402
from metaeval.scoring.engine import score_jointly, score_pairs  # noqa: E402
from metrics_zoo.bertscore import BASELINES, LAYERS, BERTScore  # noqa: E402

SENTENCES = [
    "The lighthouse was built in 1871 on a basalt ridge north of the harbour.",
    "It was automated in 1983 and is run by a local trust.",
    "The trial enrolled 240 adults with mild asthma; no difference was found after twelve weeks.",
    "Kettles with a steel body get hot during use, so hold them by the handle.",
    "In São Paulo there is a café with a naïve façade.",
    "Water boils at 93 degrees on a mountain of 2,000 metres.",
    "Was it built?",
]
SOURCES = [" ".join(SENTENCES[start : start + size]) for start in range(6) for size in (1, 2, 5)]
PAIRS = [(source, statement) for number, source in enumerate(SOURCES) for statement in SENTENCES[number % 3 :: 2]]


@pytest.fixture(scope="module")
def official_folder(golden):
    return golden.models / "microsoft" / "deberta-xlarge-mnli"


def test_without_fallback_an_empty_text_has_no_score_and_the_tokens_are_the_official_ones(golden, official_folder):
    official = golden.official("bertscore")
    answers = score_pairs(BERTScore(BERTScore.Options(model=official_folder)), golden.pairs).answers
    both = zip(official["n_tokens_source"], official["n_tokens_statement"], strict=True)
    assert [answer.tokens - answer.cut for answer in answers] == [one + other for one, other in both]
    empty = [name for name, answer in zip(golden.ids, answers, strict=True) if answer.status is Status.EMPTY]
    assert empty == ["p06_empty_source", "p07_empty_statement", "p12_whitespace_only_statement"]


def test_layers_and_baselines_are_those_that_bert_score_publishes():
    bert_score = pytest.importorskip("bert_score", reason="needs the package bert-score")
    published = bert_score.utils.model2layers
    assert {name: published[name] for name in LAYERS} == LAYERS
    for (model, layer), baseline in BASELINES.items():
        path = Path(bert_score.__file__).parent / "rescale_baseline" / "en" / f"{model}.tsv"
        rows = {int(row[0]): tuple(map(float, row[1:])) for row in csv.reader(path.read_text().splitlines()[1:])}
        assert (layer, rows[layer]) == (LAYERS[model], baseline)


class Reference:
    """The definition, one text at a time, on plain transformers: hidden_states[layer] of the whole model."""

    def __init__(self, folder, layer, before=""):
        from transformers import AutoModel, AutoTokenizer

        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.layer, self.before = layer, before
        self.read = functools.cache(self._read)

    def _read(self, text):
        text = text.strip()
        ids = self.tokenizer(self.before + text if text else "", truncation=True, max_length=512)["input_ids"]
        with torch.no_grad():
            out = self.model(input_ids=torch.tensor([ids]), output_hidden_states=True)
        return ids, out.hidden_states[self.layer][0]

    def sides(self, source, statement, weigh=None):
        special = {self.tokenizer.cls_token_id, self.tokenizer.sep_token_id}
        weigh = weigh or (lambda token: 0.0 if token in special else 1.0)
        one_ids, one = self.read(statement)
        other_ids, other = self.read(source)
        near = torch.cosine_similarity(one[:, None, :], other[None, :, :], dim=2)
        one_weights = torch.tensor([weigh(token) for token in one_ids])
        other_weights = torch.tensor([weigh(token) for token in other_ids])
        precision = float((near.max(dim=1).values * one_weights).sum() / one_weights.sum())
        recall = float((near.max(dim=0).values * other_weights).sum() / other_weights.sum())
        return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}


def made(folder, layer=2, **options):
    return BERTScore(BERTScore.Options(model=folder, layer=layer, **options))


def numbers(metric, pairs=PAIRS):
    return [answer.score for answer in score_pairs(metric, pairs).answers]


KINDS = {"bert": "", "roberta": " ", "deberta": "", "deberta-v2": "", "albert": ""}


@pytest.mark.parametrize("kind", KINDS)
def test_every_side_is_its_definition(tiny, kind):
    folder = tiny.folder(kind, num_hidden_layers=3)
    reference = Reference(folder, 2, KINDS[kind])
    expected = [reference.sides(source, statement) for source, statement in PAIRS]
    metrics = [made(folder, side=side) for side in ("precision", "recall", "f1")]
    assert metrics[0].observed() == metrics[1].observed() == metrics[2].observed()
    for metric, scored in zip(metrics, score_jointly(metrics, PAIRS), strict=True):
        own = [sides[metric.options.side] for sides in expected]
        assert [answer.score for answer in scored.answers] == pytest.approx(own, abs=1e-5)
    spread = [sides["precision"] - sides["recall"] for sides in expected]
    assert max(map(abs, spread)) > 1e-2  # or the sides could be mistaken for each other
    metrics[0].backbone = metrics[0].backbone._replace(before=" ")  # as of GPT-2, whose tokens have it, as DeBERTa's
    spans = [span for span in metrics[0].explain("🙂 It rains", "🙂 It rains") if span.side == "statement"]
    assert (spans[-1].end, all(span.start < span.end for span in spans)) == (len("🙂 It rains"), True)


def test_idf_counts_the_jobs_unique_sources(tiny):
    folder = tiny.folder("bert", num_hidden_layers=3)
    reference = Reference(folder, 2)
    held = [set(reference.read(source)[0]) for source in dict.fromkeys(source for source, _ in PAIRS)]

    def weigh(token):
        return math.log((len(held) + 1) / (sum(token in ids for ids in held) + 1))

    expected = [reference.sides(source, statement, weigh)["precision"] for source, statement in PAIRS]
    ours = numbers(made(folder, idf=True))
    assert ours == pytest.approx(expected, abs=1e-5)
    assert max(abs(a - b) for a, b in zip(ours, numbers(made(folder)), strict=True)) > 1e-3


def test_with_idf_and_one_source_its_own_words_have_no_weight_and_no_score(tiny):
    folder = tiny.folder("bert")
    pair = (SENTENCES[0], SENTENCES[0])
    for options in ({}, {"fallback": True}):  # the official precision is not a number here
        answer = score_pairs(made(folder, idf=True, **options), [pair]).answers[0]
        assert (answer.score, answer.status) == (None, Status.NOTHING_TO_SCORE)
    # ... and the official F1 is set to 0.
    assert numbers(made(folder, idf=True, side="f1", fallback=True), [pair]) == [0.0]
    assert score_pairs(made(folder, idf=True, side="f1"), [pair]).answers[0].status is Status.NOTHING_TO_SCORE


def test_each_side_is_cut_at_512_whatever_the_tokenizer_says(tiny):
    from transformers import AutoTokenizer

    folder = tiny.folder("deberta", num_hidden_layers=3)
    long = "Was it built? It was not. " * 200
    whole = len(AutoTokenizer.from_pretrained(folder, model_max_length=10**30)(long.strip())["input_ids"])
    statement = SENTENCES[1]
    own = len(AutoTokenizer.from_pretrained(folder)(statement)["input_ids"])
    answer = score_pairs(made(folder), [(long, statement)]).answers[0]
    assert (answer.tokens, answer.cut) == (whole + own, whole - 512)
    assert answer.score == pytest.approx(Reference(folder, 2).sides(long, statement)["precision"], abs=1e-5)


def official(folder, layer=2, **options):
    pytest.importorskip("bert_score", reason="needs the extra 'bertscore'")
    return made(folder, layer, engine="official", device="cpu", **options)


def agree(folder, pairs, layer=2, **options):
    """Hold the engines' answers together; returns the official ones. Statuses, tokens and cuts are the same."""
    metric = official(folder, layer, **options)
    ours, theirs = (score_pairs(one, pairs).answers for one in (made(folder, layer, device="cpu", **options), metric))
    assert [answer[1:] for answer in theirs] == [answer[1:] for answer in ours]
    for one, other in zip(ours, theirs, strict=True):
        assert one.score == (None if other.score is None else pytest.approx(other.score, abs=2e-6))
    assert metric.backbone.official is not None
    return theirs


# Blank, without a token, one token, far beyond 512 tokens, and a pair whose texts differ by white space alone.
HARD = [
    ("", "A word."), (" \n", "A word."), ("A word.", "\t"), ("\u200b", "A word."), ("A word.", "\u200b\u200b"),
    ("", ""), ("a", "a"), ("Was it built? It was not. " * 90, SENTENCES[1]), (SENTENCES[1], "It was not. " * 200),
    (f" {SENTENCES[0]}\n", SENTENCES[1]), (SENTENCES[0], SENTENCES[1]), ("🙂 橋は1931年", "橋"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_bert_score_itself_gives_our_scores(tiny, kind):
    folder = tiny.folder(kind, num_hidden_layers=3)
    answers = agree(folder, [*PAIRS[::3], *HARD])
    statuses = [answer.status for answer in answers]
    # Only some tokenizers see nothing in spaces of no width.
    assert {*statuses[-12:-9], statuses[-7]} == {Status.EMPTY}
    assert {*statuses[:-12], *statuses[-6:]} == {Status.OK}
    assert answers[-5].cut > 100
    for options in ({"side": "f1", "fallback": True}, {"side": "recall", "idf": True, "batch_tokens": 500}):
        agree(folder, [*PAIRS[::5], *HARD[:7]], **options)


@pytest.mark.parametrize("kind", ["roberta", "deberta"])
def test_the_engine_does_what_the_package_does_on_its_own(tiny, kind):
    """`BERTScorer` as people call it, where it runs on today's transformers: on texts with words, within the limit."""
    folder = tiny.folder(kind, num_hidden_layers=3)
    ours = score_pairs(official(folder, side="f1"), PAIRS).answers
    scorer = pytest.importorskip("bert_score").BERTScorer(model_type=str(folder), num_layers=2, device="cpu")
    scorer._tokenizer.model_max_length = 512
    # Transformers 5 adds RoBERTa's first space when the tokenizer is made, and no longer when it is called.
    given = [[f"{KINDS[kind]}{text}" for text in side] for side in zip(*PAIRS, strict=True)]
    if KINDS[kind]:
        scorer._tokenizer = type(scorer._tokenizer).from_pretrained(folder, add_prefix_space=True)
    _, _, f1 = scorer.score(cands=given[1], refs=given[0])
    assert [answer.score for answer in ours] == pytest.approx(f1.tolist(), abs=1e-6)


def test_the_engine_is_part_of_the_key_and_the_default_keeps_the_key_it_had(tiny):
    folder = tiny.folder("bert", num_hidden_layers=3)
    own = made(folder)
    assert own.identity().keys() == {"name", "version", "template", "options", "weights", "layer", "baseline"}
    assert own.identity()["options"].keys() == {"dtype", "side", "idf", "rescale", "fallback"}
    assert own.identity() == made(folder, engine="own").identity()
    theirs = official(folder)
    assert theirs.identity() == {**own.identity(), "engine": "bert-score 0.3.13"}
    assert theirs.observed() == official(folder, side="recall").observed() != own.observed()
    assert (theirs.provenance()["engine"], "engine" in own.provenance()) == ("bert-score 0.3.13", False)


def test_the_package_of_the_chosen_engine_is_asked_for(tiny, monkeypatch):
    monkeypatch.setattr(contract, "version_of", lambda name: "none")
    monkeypatch.setattr(contract, "find_spec", lambda name: None if name == "bert_score" else name)
    options = {"model": tiny.folder("bert", num_hidden_layers=3), "engine": "official"}
    with pytest.raises(UserError, match=r"bert_score.*\[models,bertscore\]"):
        load_metrics(["bertscore"], RunConfig(metric_options={"bertscore": options}))


def test_a_rescaled_score_is_linear_in_the_score_and_an_empty_text_is_below_it(tiny):
    folder = tiny.folder("roberta", num_hidden_layers=3)
    pairs = [*PAIRS[:5], ("", SENTENCES[0])]
    raw = numbers(made(folder, fallback=True), pairs)
    own = numbers(made(folder, fallback=True, rescale=True, baseline="0.25,0.5,0.75"), pairs)
    assert own == pytest.approx([(score - 0.25) / 0.75 for score in raw], abs=1e-12)
    assert (raw[-1], own[-1]) == (0.0, pytest.approx(-1 / 3))
    f1 = numbers(made(folder, side="f1", rescale=True, baseline=(0.25, 0.5, 0.75)), PAIRS[:5])
    assert f1 == pytest.approx([(s - 0.75) / 0.25 for s in numbers(made(folder, side="f1"), PAIRS[:5])], abs=1e-12)


def test_layers_above_are_never_loaded(tiny):
    metric = made(tiny.folder("bert", num_hidden_layers=3))
    metric.prepare([], [])
    assert len(metric.backbone.encoder._model.encoder.layer) == 2
    with pytest.raises(UserError, match="3 layers"):
        made(tiny.folder("bert", num_hidden_layers=3), layer=4).prepare([], [])


def test_layer_and_baseline_in_force_are_the_identity_however_they_were_given(tiny, tmp_path):
    folder = shutil.copytree(tiny.folder("deberta", num_hidden_layers=3), tmp_path / "deberta-xlarge-mnli")
    default = BERTScore(BERTScore.Options(model=folder)).identity()
    assert default == BERTScore(BERTScore.Options(model=folder, layer=40)).identity()
    assert (default["layer"], default["baseline"]) == (40, None)
    assert BERTScore(BERTScore.Options(model=folder, layer=3)).identity() != default
    rescaled = BERTScore(BERTScore.Options(model=folder, rescale=True)).identity()
    # The row for layer 40 of the English baselines of bert-score 0.3.13.
    assert rescaled["baseline"] == [0.5169066, 0.5170288, 0.5150192]
    assert made("FacebookAI/roberta-large", layer=None).layer == 17


def test_idf_makes_the_identity_depend_on_the_jobs_sources(tiny):
    folder = tiny.folder("bert", num_hidden_layers=3)
    assert made(folder, idf=True).corpus_dependent
    assert not made(folder).corpus_dependent
    one, other = (score_pairs(made(folder, idf=True), pairs).identity for pairs in (PAIRS, PAIRS[:9]))
    assert one != other
    assert "corpus" not in score_pairs(made(folder), PAIRS[:3]).identity


def test_statements_beyond_the_budget_are_encoded_again_and_score_the_same(tiny, monkeypatch):
    folder = tiny.folder("bert", num_hidden_layers=3)
    expected = numbers(made(folder))
    metric = made(folder)
    monkeypatch.setattr(encoders, "_SLICE", 2)
    metric.texts._budget = 9_000  # bytes: of 32 dimensions, 70 tokens
    assert numbers(metric) == pytest.approx(expected, abs=1e-5)
    assert 0 < metric.texts.held <= 9_000
    assert 0 < len(metric.texts._kept) < len(SENTENCES)

"""NLI cross-encoders by id: scores against plain transformers one pair at a time, labels read and refused, limits."""

import json
import math
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.core.errors import UserError  # noqa: E402
from metaeval.runs.metrics import load_metric  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.nli import NLI, NLIOptions, input_limit, read_labels  # noqa: E402
from tests.cli.samples import with_options  # noqa: E402
from tests.metrics_zoo.stand_ins import odd_pairs  # noqa: E402

THREE = {0: "contradiction", 1: "entailment", 2: "neutral"}
KINDS = ("bert", "roberta", "deberta", "deberta-v2", "albert")


@pytest.fixture(scope="module")
def folders(tiny):
    return {kind: tiny.folder(kind, name="nli", id2label=THREE) for kind in KINDS}


def slow(folder, pairs):
    """Probabilities, one pair at a time, transformers' own pair encoding with the source cut."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    found = []
    for source, statement in pairs:
        given = {"max_length": 512, "return_tensors": "pt", "return_token_type_ids": model.config.type_vocab_size > 1}
        try:
            whole = tokenizer([source.strip()], [statement.strip()], truncation="only_first", **given)
        except Exception:  # noqa: BLE001 (the statement alone is too long)
            whole = tokenizer([source.strip()], [statement.strip()], truncation="longest_first", **given)
        with torch.no_grad():
            found.append(model(**whole).logits[0].softmax(0).tolist())
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_our_scores_are_those_of_the_definition(kind, folders):
    pairs = [(source.strip(), statement.strip()) for source, statement in odd_pairs(200)]
    wanted = slow(folders[kind], pairs)
    plain = score_pairs(NLI(NLIOptions(model=folders[kind])), pairs).answers
    assert [answer.score for answer in plain] == pytest.approx([row[1] for row in wanted], abs=1e-5)
    less = score_pairs(NLI(NLIOptions(model=folders[kind], score="ent-minus-con")), pairs).answers
    assert [answer.score for answer in less] == pytest.approx([row[1] - row[0] for row in wanted], abs=1e-5)
    assert max(row[1] for row in wanted) - min(row[1] for row in wanted) > 0.05
    metric = NLI(NLIOptions(model=folders[kind]))
    for three, row in zip(metric.entail(*zip(*pairs, strict=True)), wanted, strict=True):
        assert [math.exp(value) for value in three] == pytest.approx([row[1], row[2], row[0]], abs=1e-5)


def config(labels):
    return SimpleNamespace(num_labels=len(labels), id2label=dict(enumerate(labels)))


# Spellings of published models: MNLI's, cross-encoder/*, tals/* (FEVER), ynie/*, MoritzLaurer/* zero-shot, RTE.
LABELS = json.loads(Path(__file__).with_name("nli_labels.json").read_text(encoding="utf-8"))


def test_labels_are_read_from_the_configuration_or_refused_with_the_way_out():
    for labels, read in LABELS["read"]:
        assert read_labels(config(labels), "", "some/model") == read
    for labels in LABELS["refused"]:
        with pytest.raises(UserError, match="labels=entailment,neutral,contradiction"):
            read_labels(config(labels), "", "some/model")


def test_labels_may_be_given_and_are_checked_too():
    assert read_labels(config(["LABEL_0"] * 3), "neutral, entailment,contradiction", "x")[1] == "entailment"
    for wrong in ("entailment,neutral", "entailment,neutral,blue", "entailment,entailment,neutral"):
        with pytest.raises(UserError, match="are not NLI's"):
            read_labels(config(["LABEL_0"] * 3), wrong, "x")


def test_given_labels_change_score_and_identity(folders, tiny):
    folder = tiny.folder("bert", name="unnamed")  # LABEL_0 ...

    one, other = (
        NLI(NLIOptions(model=folder, labels=labels))
        for labels in ("entailment,neutral,contradiction", "contradiction,neutral,entailment")
    )
    pair = (["The lighthouse."], ["It was built."])
    assert one.entail(*pair)[0] == other.entail(*pair)[0][::-1]
    assert one.identity() != other.identity()


def test_two_labels_give_a_score_and_no_third_class(tiny):
    folder = tiny.folder("roberta", name="two", id2label={0: "entailment", 1: "not_entailment"})
    pair = (["The lighthouse."], ["It was built."])
    (answer,) = NLI(NLIOptions(model=folder)).score(*pair)
    assert answer.score == pytest.approx(slow(folder, [(pair[0][0], pair[1][0])])[0][0], abs=1e-5)
    with pytest.raises(UserError, match="three-way"):
        NLI(NLIOptions(model=folder)).entail(*pair)


@pytest.mark.parametrize(
    ("kind", "changes", "told", "limit"),
    [
        ("bert", {"max_position_embeddings": 128}, 512, 128),
        ("bert", {}, 10**30, 512),  # a tokenizer without a limit: transformers says 1e30
        ("roberta", {"max_position_embeddings": 514}, 10**30, 512),  # two positions are the padding's
        ("roberta", {"max_position_embeddings": 130}, 512, 128),
        ("deberta-v2", {}, 10**30, 512),
        ("deberta-v2", {"max_position_embeddings": 1, "position_biased_input": False}, 512, 1),
        ("albert", {}, 64, 64),
    ],
)
def test_the_input_limit_is_what_the_model_has_positions_for(tiny, kind, changes, told, limit):
    folder = tiny.folder(kind, name="limits", id2label=THREE, **changes)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    assert input_limit(model, SimpleNamespace(model_max_length=told)) == limit
    model.config.max_position_embeddings = -1  # neither has a limit
    assert input_limit(model, SimpleNamespace(model_max_length=10**6)) == 512


def test_hardly_any_padding_and_each_pair_once(folders, watch):
    rng = random.Random(1)
    sources = [" ".join(["word"] * rng.randint(40, 90)) + f" {number}" for number in range(12)]
    statements = [" ".join(["claim"] * rng.randint(5, 30)) + f" {number}" for number in range(8)]
    pairs = [(source, statement) for source in sources for statement in statements]
    metric = NLI(NLIOptions(model=folders["roberta"]))
    passed = watch(metric.model._model)
    metric.score(*zip(*(pairs * 2), strict=True))
    assert passed.texts == len(pairs)
    assert passed.padding <= 1.01
    assert metric.model.tokens.texts.calls == len(sources) + len(statements) + 2


RANGES = [("nli", "score=ent-minus-con", (-1.0, 1.0)), ("alignscore", "mode=reg_sp", (None, None))]
RANGES += [("bertscore", "rescale=true", (None, 1.0)), ("bartscore", "transform=exp", (0.0, 1.0))]


@pytest.mark.parametrize(("name", "option", "ends"), RANGES)
def test_an_option_that_changes_the_range_changes_the_card(name, option, ends):
    # Outside of the declared range a score is a status and no score.
    changed, plain = (load_metric(name, with_options(name, of)) for of in ([option], []))
    assert (changed.card.low, changed.card.high) == ends != (plain.card.low, plain.card.high)

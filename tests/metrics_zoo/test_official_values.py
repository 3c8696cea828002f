"""The scores of official code on tiny models (tests/golden/metrics), one line for each way to score."""

import pytest

pytest.importorskip("torch", reason="needs the extra 'models'")

from metaeval.core import registry
from metaeval.core.errors import UserError
from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_pairs
from tests.metrics_zoo.test_summac_conv import AGGREGATES, synthetic_layers

BART, T5 = "facebook/bart-large-cnn", "google/t5_xxl_true_nli_mixture"
BACK = {"direction": "statement-to-source"}
ALBERT, DEBERTA = "tals/albert-xlarge-vitaminc-mnli", "microsoft/deberta-xlarge-mnli"
WITHOUT_WORDS = ("p07_empty_statement", "p12_whitespace_only_statement")
ANY = {"fallback": True}  # official code gives a number to an empty text
PUNKT = {**ANY, "splitter": "nltk"}
SUMMAC = {
    "": {},
    "_entailment_only": {"use_con": False},
    **{f"_{unit}_granularity": {"granularity": unit} for unit in ("document", "paragraph", "2sents")},
}
VALUES = [
    # ALCE 246c476 on T5 1.1's layout, whose head is its own, and on T5 1.0's (transformers 4.30.2)
    ("autoais", T5, {"score": "full"}, "autoais_t5", "alce_prob"),
    ("autoais", T5, {"score": "two_way"}, "autoais_t5", "forward_two_way_ids_3_209"),
    ("autoais", "t5_tied", {"score": "full"}, "autoais_t5", "tied_full"),
    ("autoais", "t5_tied", {"score": "two_way"}, "autoais_t5", "tied_two_way"),
    # yuh-zha/AlignScore a0936d5
    *(("alignscore", ".", {"mode": key}, "alignscore", key) for key in "nli_sp bin_sp reg_sp nli bin reg".split()),
    # neulab/BARTScore 248f511
    ("bartscore", BART, ANY, "bartscore", "scores"),
    (
        "bartscore",
        BART,
        {**ANY, "direction": "statement-to-source"},
        "bartscore",
        "scores_reversed_statement_to_source",
    ),
    *(("bartscore", BART, {**ANY, "batch_tokens": most}, "bartscore", "scores_batch1") for most in (1, 100, 100_000)),
    # bert-score 0.3.13
    ("bertscore", DEBERTA, ANY, "bertscore", "P"),
    ("bertscore", DEBERTA, {**ANY, "side": "recall"}, "bertscore", "R"),
    ("bertscore", DEBERTA, {**ANY, "side": "f1"}, "bertscore", "F"),
    ("bertscore", DEBERTA, {**ANY, "rescale": True}, "bertscore", "P_rescaled_en"),
    ("bertscore", DEBERTA, {**ANY, "idf": True}, "bertscore", "P_idf_from_sources"),
    # salesforce/factCC 6170a8c
    ("factcc", "factcc-checkpoint", {}, "factcc", "transformers_5.23_p_correct"),
    # summac 0.0.4 (transformers 4.30.2)
    *(("summac-zs", ALBERT, {**PUNKT, **own}, "summac_zs", f"scores{key}") for key, own in SUMMAC.items()),
    *(("summac-conv", ALBERT, {**PUNKT, "agg": agg}, "summac_conv", key) for key, agg in AGGREGATES.items()),
]


@pytest.mark.parametrize(("name", "folder", "options", "file", "key"), VALUES)
def test_the_official_scores(golden, punkt, tmp_path, name, folder, options, file, key):
    values = golden.official(file)
    if name == "summac-conv":
        values = values["synthetic_conv"]
        options = {**options, "conv_weights": synthetic_layers(tmp_path / "conv.bin")}
    kind = registry.find("metric", name)
    answers = score_pairs(kind(kind.Options(model=golden.models / folder, **options)), golden.pairs).answers
    for pair, answer, value in zip(golden.ids, answers, values[key], strict=True):
        if pair in WITHOUT_WORDS and not options.get("fallback"):
            assert answer.status is Status.EMPTY
        else:
            assert answer.score == pytest.approx(value, abs=1e-5), pair


TWO = {"id2label": {0: "entailment", 1: "not_entailment"}}
OTHERS = [
    ("autoais", "bert", {}, {}, "cuts 1 and 0 into"),
    ("bartscore", "bert", {}, {}, "BertFor"),
    ("bartscore", "t5", {}, {}, "T5For"),
    ("bartscore", "bart", {"vocab_size": 300}, {}, "567 tokens, the model 300"),
    ("bartscore", "bart", {"tie_word_embeddings": False}, {}, "output layer"),
    ("bertscore", "bart", {}, {"layer": 2}, "'bart'"),
    ("bertscore", "roberta", {}, {"layer": 4}, "only 2 layers"),
    ("bertscore", "roberta", {}, {}, r"bertscore\.layer=N"),
    ("bertscore", "roberta", {}, {"layer": 2, "rescale": True}, "set baseline"),
    ("bertscore", "roberta", {}, {"layer": 2, "engine": "official", "dtype": "bfloat16"}, "bfloat16"),
    ("factcc", "bert", {"id2label": {0: "INCORRECT", 1: "CORRECT"}}, {}, "CORRECT and INCORRECT"),
    ("factcc", "bert", {"id2label": {0: "CORRECT", 1: "INCORRECT", 2: "OTHER"}}, {}, "CORRECT and INCORRECT"),
    ("factcg", "deberta-v2", {}, {}, "3 labels"),
    ("factcg", "roberta", TWO, {}, "template"),
    ("hhem", "bert", {}, {}, r"no t5\.transformer"),
    ("nli", "bert", {}, {}, "LABEL_0, LABEL_1, LABEL_2"),
    (
        "nli",
        "roberta",
        {"id2label": {0: "entailment", 1: "not_entailment"}},
        {"score": "ent-minus-con"},
        "contradiction",
    ),
    ("summac-zs", "albert", {"id2label": {0: "CORRECT", 1: "INCORRECT"}}, {"splitter": "rules"}, "0 CORRECT"),
]


@pytest.mark.parametrize(("name", "model", "config", "options", "named"), OTHERS)
def test_a_model_that_would_give_wrong_numbers_is_refused(tiny, name, model, config, options, named):
    """Another architecture, vocabulary or number of layers, or labels in another order."""
    kind = registry.find("metric", name)
    with pytest.raises(UserError, match=named):
        score_pairs(kind(kind.Options(model=tiny.folder(model, **config), **options)), [("A dog.", "It ran.")])

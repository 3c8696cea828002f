"""AutoAIS against ALCE's outputs on tiny T5s, and against its definition written out on plain transformers."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.scoring.backends.tokenization import PromptTokens  # noqa: E402
from metaeval.scoring.contract import Status  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.autoais import AutoAIS  # noqa: E402
from tests.metrics_zoo.stand_ins import first_logits, read_t5  # noqa: E402

TEMPLATE = AutoAIS.card.template
PAIRS = json.loads(Path(__file__).with_name("odd_pairs.json").read_text(encoding="utf-8"))


def metric(folder, **options):
    return AutoAIS(AutoAIS.Options(model=folder, device="cpu", **options))


def scores(found):
    return [answer.score for answer in found.answers]


def test_the_official_binary_answers(golden):
    values = golden.official("autoais_t5")
    one = metric(golden.models / "google/t5_xxl_true_nli_mixture", score="binary")
    # What the model says to every pair, whatever its status.
    seen = one.model.ask([prompt.ids for prompt in one.prompts.encode(*zip(*golden.pairs, strict=True))], one._ask)
    assert [int(spelled) for _, _, spelled in seen] == values["alce_binary"]
    # ▁1 is the first piece of some of these answers, and the answer is not "1" all the same
    assert max(values["alce_prob"]) > 0.5


def test_the_official_token_ids(golden):
    values = golden.official("autoais_t5")
    one = metric(golden.models / "google/t5_xxl_true_nli_mixture")
    prompts = one.prompts.encode(*zip(*golden.pairs, strict=True))
    assert [prompt.tokens for prompt in prompts] == values["n_tokens"]
    assert [hashlib.sha1(str(each.ids).encode()).hexdigest()[:10] for each in prompts] == values["token_ids_sha1_10"]


@pytest.fixture(scope="module")
def folder(tiny):
    return tiny.folder("t5")


@pytest.fixture(scope="module")
def defined(folder):
    """(full, two_way) of each pair by the definition."""
    rows = [first_logits(folder, f"premise: {one} hypothesis: {other}") for one, other in PAIRS]
    return [float(row.softmax(0)[209]) for row in rows], [float(row[[3, 209]].softmax(0)[1]) for row in rows]


@pytest.mark.parametrize("batch_tokens", [1, 300, 100_000])
def test_both_scores_are_their_definition_whatever_the_batch(folder, defined, batch_tokens):
    for score, values in zip(("full", "two_way"), defined, strict=True):
        found = score_pairs(metric(folder, score=score, batch_tokens=batch_tokens), PAIRS)
        assert scores(found) == pytest.approx(values, abs=1e-5)
    assert len({round(value, 3) for value in defined[1]}) > 4
    full, two_way, binary = (metric(folder, score=score).observed() for score in ("full", "two_way", "binary"))
    assert full == two_way != binary


def test_the_groups_of_prompts_do_not_depend_on_the_number_of_cores(folder, monkeypatch):
    one = metric(folder, batch_tokens=200)

    def groups(cores):
        sizes, texts = [], [[7] * (5 + n % 40) for n in range(150)]
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
        one.model.ask(texts, lambda group: sizes.append(len(group)) or [0] * len(group))
        return sorted(sizes)

    assert groups(1) == groups(2) == groups(64)
    assert 8 <= len(groups(1)) < 150


def test_one_decoder_step_a_pair_and_each_text_tokenised_once(folder, watch):
    sources = [" ".join(["The board refused."] * (number % 7 + 1) + [f"{number} x"]) for number in range(8)]
    pairs = [(source, f"It was built in {year}.") for source in sources for year in range(1870, 1880)]
    for score in ("full", "two_way"):
        one = metric(folder, score=score, batch_tokens=4096)
        probes = one.prompts.texts.calls  # what the prompts learn from a tokenizer beforehand
        encoded, decoded = watch(one.model._model.get_encoder()), watch(one.model._model)
        one.observe(*zip(*pairs, strict=True))
        assert one.prompts.texts.calls - probes == 8 + 10
        assert decoded.texts == encoded.texts == len(pairs)
        assert encoded.padding <= 1.01


@pytest.fixture(scope="module")
def speller(tiny, tmp_path_factory):
    """A T5 whose head is its own, and solved for: ▁1 begins the answers to pairs 0-3; the end follows after 0 and 2.

    The rows of the head for ▁, ▁1 and the end are the least-norm solution of the logits wanted in the decoder states
    of all pairs at the first step, and at the second one after ▁1.
    """

    from safetensors.torch import save_file

    def solve(tokenizer, model):
        states = []
        hook = model.lm_head.register_forward_pre_hook(lambda _, given: states.append(given[0][0]))
        for source, statement in PAIRS:
            given = tokenizer(f"premise: {source} hypothesis: {statement}", return_tensors="pt")
            with torch.inference_mode():
                model(**given, decoder_input_ids=torch.tensor([[0, 209]]))
        hook.remove()
        first, second = (torch.stack([pair[step] for pair in states]).double() for step in (0, 1))
        below = torch.full((len(PAIRS),), -30.0, dtype=torch.double)
        begins = torch.tensor([30.0 if number < 4 else -30.0 for number in range(len(PAIRS))], dtype=torch.double)
        ends = torch.tensor([30.0 if number in (0, 2) else -30.0 for number in range(len(PAIRS))], dtype=torch.double)
        wanted = {209: (begins, below), 3: (-begins, below), 1: (below, ends)}
        with torch.no_grad():
            model.lm_head.weight.mul_(0.01)
            for piece, values in wanted.items():
                solved = torch.linalg.pinv(torch.cat([first, second])) @ torch.cat(values)
                model.lm_head.weight[piece] = solved.float()

    folder, path = tiny.folder("t5", d_model=64), tmp_path_factory.mktemp("speller")
    tokenizer, model = read_t5(folder)
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    solve(tokenizer, model)
    shutil.copytree(folder, path, dirs_exist_ok=True)
    # Transformers 5 saves no head of its own, so the file is written by hand.
    state = {name: value.detach().clone() for name, value in model.state_dict().items() if "embed_tokens" not in name}
    save_file(state, path / "model.safetensors", metadata={"format": "pt"})
    return path


def test_binary_is_one_where_the_greedy_answer_is_exactly_1(speller, watch):
    tokenizer, model = read_t5(speller)
    texts = []
    for source, statement in PAIRS:  # the official way: generate, decode, compare
        given = tokenizer(f"premise: {source} hypothesis: {statement}", return_tensors="pt")
        output = model.generate(**given, max_new_tokens=10, do_sample=False)
        texts.append(tokenizer.decode(output[0], skip_special_tokens=True))
    one = metric(speller, score="binary")
    encoded, decoded = watch(one.model._model.get_encoder()), watch(one.model._model)
    assert scores(score_pairs(one, PAIRS)) == [float(text == "1") for text in texts]
    assert [text == "1" for text in texts] == [True, False, True, False, False, False]
    # pairs 1 and 3 begin with ▁1 too, as the probability says, and go on
    assert all(value > 0.5 for value in scores(score_pairs(metric(speller), PAIRS))[:4])
    assert decoded.texts > encoded.texts == len(PAIRS)


def test_an_answer_is_read_as_far_as_alce_generates_it(speller):
    """Ten pieces; pads among them count, and are no text."""
    one = metric(speller, score="binary")
    replies = [[0] * 9 + [209, 1], [0] * 10 + [209, 1], [0, 209, 1], [209, 209, 1]]

    class Replies:
        def after(self, rows, written):
            logits = torch.zeros(len(rows), 1, 300)
            for place, (row, ids) in enumerate(zip(rows, written, strict=True)):
                logits[place, 0, replies[row][len(ids)]] = 1
            return logits

    assert one._spelled(Replies(), [reply[0] for reply in replies]) == {0, 2}


def test_joined_parts_are_the_whole_whatever_the_texts(folder):
    """Ids against the tokenizer's own of the whole string: random texts with spaces, newlines, marks and specials."""
    import random

    tokenizer, _ = read_t5(folder)
    rng = random.Random(5)
    marks = [
        " ", "  ", "\n", "\t", "a", "The", "1", ".", "é", "e\u0301", "\u0301", "</s>", "<pad>", "<", ">", "🙂", "東",
        "\u200b", "\xa0", "▁",
    ]  # fmt: skip
    texts = ["", " ", *("".join(rng.choices(marks, k=rng.randrange(1, 9))) for _ in range(300))]
    for template in (TEMPLATE, "predict: {source}</s>{statement}", "Claim: {statement} \n Reference: {source}"):
        prompts = PromptTokens(tokenizer, template)
        probed = prompts.wholes
        pairs = [(rng.choice(texts), rng.choice(texts)) for _ in range(600)]
        for (source, statement), prompt in zip(pairs, prompts.encode(*zip(*pairs, strict=True)), strict=True):
            text = template.replace("{source}", "\0").replace("{statement}", statement).replace("\0", source)
            assert prompt.ids == tokenizer(text)["input_ids"], (template, source, statement)
        assert 0 < prompts.wholes - probed < 600


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_a_tokenizer_whose_spaces_are_pieces_is_read_right_too(scheme):
    """Without the white-space split of T5's tokenizer two spaces are two pieces, and a part's leading space counts."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    raw = Tokenizer(
        models.Unigram([("<unk>", 0.0), ("</s>", 0.0), *((mark, -2.0) for mark in "▁abcdehimopprsty:.")], 0)
    )
    raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    raw.add_special_tokens(["</s>"])
    raw.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])

    class Wrapped:
        backend_tokenizer = raw

        def __call__(self, text):
            return {"input_ids": raw.encode(text).ids}

    texts = ["", " ", "abc", " abc", "abc ", "a  b", "a.", "\n", "</s>", "b</s>"]
    prompts = PromptTokens(Wrapped(), TEMPLATE)
    pairs = [(source, statement) for source in texts for statement in texts]
    for (source, statement), prompt in zip(pairs, prompts.encode(*zip(*pairs, strict=True)), strict=True):
        assert prompt.ids == raw.encode(f"premise: {source} hypothesis: {statement}").ids, (source, statement)


def test_beyond_max_tokens_the_source_alone_is_cut(folder):
    tokenizer, model = read_t5(folder)
    source, statement = PAIRS[1]
    whole = tokenizer(f"premise: {source} hypothesis: {statement}")["input_ids"]
    tail = tokenizer(f"hypothesis: {statement}")["input_ids"]
    kept = [*whole[: 64 - len(tail)], *tail]
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([kept]), decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[
            0, 0
        ]
    answer = score_pairs(metric(folder, max_tokens=64), [(source, statement)]).answers[0]
    assert answer.score == pytest.approx(float(logits.double().softmax(0)[209]), abs=1e-5)
    assert (answer.tokens, answer.cut) == (len(whole), len(whole) - 64)
    uncut = score_pairs(metric(folder), [(source, statement)]).answers[0]
    assert (uncut.tokens, uncut.cut) == (len(whole), 0)


def test_a_statement_that_fills_the_limit_is_refused_not_cut(folder):
    answer = score_pairs(metric(folder, max_tokens=64), [("A dog.", "It was not built. " * 30)]).answers[0]
    assert answer.status is Status.TOO_LONG
    assert answer.score is None

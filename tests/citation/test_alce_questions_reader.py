"""The extractive reader: the pipeline of transformers 4 gives the same answers, and the best span of one window."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

import metaeval
from metaeval.citation.alce.qa_model import best_span, extractive_reader
from metaeval.core.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model
from metaeval.scoring.backends.model_loading import load_model, load_tokenizer

torch = pytest.importorskip("torch", reason="the reader is a model")
transformers = pytest.importorskip("transformers", reason="the reader is a model")

SENTENCES = (
    "The Kestrel lighthouse was built in 1871 on a basalt ridge north of the harbour.",
    "It was automated in 1983, and is run by a local trust.",
    "The trial enrolled 240 adults with mild asthma; no difference was found after twelve weeks.",
    "Sourdough rises slowly because wild yeast is less active than the yeast that bakers buy.",
    "Kettles with a steel body get hot, so hold them by the handle.",
    "In São Paulo there is a café with a naïve façade (see  the café's sign).",
    "Water boils at 100 °C at sea level — and at 93 °C on a mountain of 2,000 metres.",
    "A lamp, a lamp, a lamp, and the lamp of the harbour's lighthouse!",
    "東京 is the capital of 日本。",
    "Cafe\u0301 written with a combining accent;\tthen a tab.\nThen a line.",
)
QUESTIONS = (
    "When was the Kestrel lighthouse built?",
    "Who runs it?",
    "How many adults were enrolled in the trial?",
    "Why does sourdough rise slowly?",
    "Where is the café with the naïve façade?",
    "At what temperature does water boil on a mountain?",
    "lamp lamp lamp",
    "首都は?",
)
MARKED = "the <s> lamp </s> of [CLS] the [SEP] harbour"
ODD = (" ", "\n\n", ".", "a", "lamp lamp lamp lamp", "🙂🙂 ok 🙂", MARKED, "São\u00a0Paulo")
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
ALL_WORDS = {word for text in (*SENTENCES, *QUESTIONS) for word in text.split()}
WORDS = sorted(word for word in ALL_WORDS if word.isascii() and word.isalpha())


def pairs():
    """Questions with contexts of 1 to 40 sentences (1 to about 10 windows), and with contexts that hardly are any."""
    draw = random.Random(11)
    contexts = [" ".join(draw.choices(SENTENCES, k=size)) for size in (1, 2, 3, 5, 8, 13, 25, 40) for _ in range(6)]
    return [(QUESTIONS[number % len(QUESTIONS)], context) for number, context in enumerate((*contexts, *ODD))]


def save_roberta(folder):
    """A RoBERTa in the files of old checkpoints: bytes, and every second word of the texts, are tokens."""
    from tokenizers.pre_tokenizers import ByteLevel

    merges = {}
    for word in WORDS[::2]:
        for end in range(len(word)):
            merges[f"Ġ{word[:end]}", word[end]] = None
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(ByteLevel.alphabet()), *map("".join, merges)]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    merged = "\n".join(map(" ".join, merges))
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merged}\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 512}', encoding="utf-8")
    config = transformers.RobertaConfig(
        vocab_size=len(tokens), max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, **SHAPE
    )
    save_weights(transformers.RobertaForQuestionAnswering(config), folder, 10)
    return folder


def save_bert(folder):
    """A BERT that reads 160 tokens at a time: characters, and every second word of the texts, are tokens."""
    letters = sorted({letter for text in (*SENTENCES, *QUESTIONS) for letter in text.lower() if not letter.isspace()})
    words = [word.lower() for word in WORDS[::2]]
    tokens = dict.fromkeys(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters), *words]
    )
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 160, "do_lower_case": true}', encoding="utf-8")
    config = transformers.BertConfig(vocab_size=len(tokens), max_position_embeddings=160, **SHAPE)
    save_weights(transformers.BertForQuestionAnswering(config), folder, 14)
    return folder


def save_weights(model, folder, seed):
    """Every weight drawn from one seed, those of the last layer large: answers differ, and some are none."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            norm = "LayerNorm.weight" in name
            scale = 0.1 if norm else 0.3 if name.startswith("qa_outputs") else 0.25
            parameter.copy_(norm + scale * noise)
    model.eval().save_pretrained(folder)


# What transformers' own pipeline answers, pair by pair, on the folders that `save_roberta` and `save_bert` write.
ANSWERS = json.loads((Path(__file__).parents[1] / "golden" / "extractive_reader.json").read_text(encoding="utf-8"))
GOLDEN = {"roberta": (save_roberta, ANSWERS["roberta"]), "bert": (save_bert, ANSWERS["bert"])}


def parts(folder):
    """Model and tokenizer of a folder, loaded as the metrics' are."""
    found = find_model(Checkpoint("tiny/reader", "made by the test"), folder)
    return load_model(transformers.AutoModelForQuestionAnswering, found, "float32", "cpu"), load_tokenizer(found)


@pytest.fixture(scope="module", params=GOLDEN)
def golden(request, tmp_path_factory):
    save, answers = GOLDEN[request.param]
    return *parts(save(tmp_path_factory.mktemp("readers") / request.param)), answers


def test_answers_are_those_of_the_pipeline_in_any_company(golden):
    model, tokenizer, answers = golden
    read = extractive_reader(model, tokenizer)
    # Contexts of 25 and 40 sentences, of up to ten windows, take most of the time: one of three is read.
    kept = [number for number in range(len(answers)) if number not in range(36, 48) or number % 3 == 0]
    assert read([pairs()[number] for number in kept]) == [answers[number] for number in kept]
    assert read([pairs()[number] for number in kept[::-4]]) == [answers[number] for number in kept[::-4]]
    assert [read([pairs()[number]])[0] for number in kept[:30:3]] == [answers[number] for number in kept[:30:3]]
    assert read([]) == []


def test_a_question_that_leaves_no_room_is_refused(golden):
    model, tokenizer, _ = golden
    read = extractive_reader(model, tokenizer)
    long = "lamp " * 300
    assert isinstance(read([("lamp?", long)])[0], str)
    with pytest.raises(UserError, match=r"'lamp lamp .*' \.\.\. is too long"):
        read([(long, long)])
    tokenizer.padding_side = "left"
    try:
        with pytest.raises(UserError, match="pads on the right"):
            extractive_reader(model, tokenizer)
    finally:
        tokenizer.padding_side = "right"


def test_the_command_line_reads_answers_with_a_model_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_roberta(tmp_path / "reader")
    question, context = pairs()[0]
    pairs_of = [{"question": question, "short_answers": [ANSWERS["roberta"][0]]}]
    docs = [{"title": "t", "text": context}]
    item = {"question": question, "output": f"{context} [1].", "docs": docs, "qa_pairs": pairs_of}
    Path("answers.json").write_text(json.dumps([item]), encoding="utf-8")

    found = metaeval.cite(
        "alce", "answers.json", nli="overlap", measures=("qa_em", "qa_f1"), reader="reader", results=tmp_path
    )

    # The reader's first golden answer is the short answer asked for.
    assert [(row["qa_em"], row["qa_f1"]) for row in found.rows["answers:overlap"]] == [(1.0, 1.0)]
    assert "QA-EM" in found["answers"].headings
    assert str(found["answers"].settings["reader"]).startswith("reader@sha256:")


def logits(*shares):
    return np.log(np.array(shares, dtype=np.float32)) + 90  # a float32 holds no power of e above 88


def test_an_answer_has_at_most_15_tokens():
    # 1 to 16 has 0.6 x 0.9 and 16 tokens; 2 to 16 has 0.3 x 0.9 and 15. The rest share 0.1 on each side.
    start, end = np.full(17, 0.1 / 15), np.full(17, 0.1 / 16)
    start[1], start[2], end[16] = 0.6, 0.3, 0.9
    found = best_span(logits(*start), logits(*end), np.ones(17, dtype=bool))
    assert found[:3] == (2, 16, pytest.approx(0.27, rel=1e-4))

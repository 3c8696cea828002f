"""What models are read with, piece by piece: batches, cuts, ids, places, matches, files and memory."""

import json
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from tokenizers import Tokenizer  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402
from tokenizers.pre_tokenizers import WhitespaceSplit  # noqa: E402
from tokenizers.processors import TemplateProcessing  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402

from metaeval.core.errors import UserError  # noqa: E402
from metaeval.scoring.backends import batches, model_loading, model_metric, tokenization  # noqa: E402
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model  # noqa: E402
from metaeval.scoring.backends.classifier import PairClassifier, answers_of, worded_logits  # noqa: E402
from metaeval.scoring.backends.sentence_splitting import best_pieces, places  # noqa: E402
from metaeval.scoring.backends.text_encoder import (  # noqa: E402
    JobTexts,
    TextEncoder,
    align_tokens,
    first_products,
    match_pairs,
    wordless_and_counts,
)
from metaeval.scoring.backends.tokenization import PairTokens, PromptTokens  # noqa: E402
from metaeval.scoring.executors import local  # noqa: E402

WORDS = "the cat sat . it did not , a dog said 3 times answer : yes no of rain".split()
TEXTS = ["the cat sat", "a dog said no", "rain", "", "it did not , the dog said", "the the the the the the the the"]


def tokenizer(template="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"):
    """A fast tokenizer of whole words, each with the number of its place."""
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    backend = Tokenizer(WordLevel({word: at for at, word in enumerate([*special, *WORDS])}, unk_token="[UNK]"))
    backend.pre_tokenizer = WhitespaceSplit()
    single = "[CLS] $A [SEP]" if template.startswith("[CLS]") else "$A [SEP]"
    backend.post_processor = TemplateProcessing(single, template, [("[CLS]", 1), ("[SEP]", 2)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")


def test_lengths_are_cut_into_the_batches_that_they_were(recorded, monkeypatch):
    lists = [[], [0], [1, 1], [3, 1, 2], [7] * 9, [10, 9, 10, 9, 10], [0, 0, 5, 0], [100, 50, 50, 99, 1], [*range(12)]]
    found = {
        f"{number} {budget} {waste}": list(batches.length_batches(lengths, budget, waste))
        for (number, lengths), budget, waste in product(enumerate(lists), (1, 10, 40), (0.0, 0.1, 0.5))
    }
    monkeypatch.setattr(batches, "CORES", 1)
    alone = [batches.workers("cpu"), batches.workers("cuda"), *map(batches.allowed_waste, ("cpu", "cuda"))]
    monkeypatch.setattr(batches, "os", SimpleNamespace(cpu_count=lambda: None))  # where a system tells nothing
    monkeypatch.setattr(batches, "CORES", 0)
    alone.append(batches.workers("cpu"))
    recorded.held("scoring-batches", {**found, "alone": alone})


def test_pairs_and_prompts_are_cut_where_they_were(recorded):
    sizes = list(product(range(6), range(6), (1, 2, 5, 6)))
    cuts = tokenization._CUTS.items()
    found = {kind: [cut(*each) for each in sizes if sum(each[:2]) > each[2]] for kind, cut in cuts}
    pairs = [(first, second) for first in TEXTS for second in TEXTS]
    for limit, cut in ((7, "source"), (8, "longest"), (9, "longest-tie-statement"), (100, "source")):
        encoded = PairTokens(tokenizer(), limit, cut).encode(*zip(*pairs, strict=True))
        found[f"pairs {limit} {cut}"] = [" ".join(map(str, [*one.ids, one.tokens, one.cut])) for one in encoded]
        assert all(one.segments == [0] * (at := one.ids.index(2) + 1) + [1] * (len(one.ids) - at) for one in encoded)
    templates = ("{source} answer : {statement}", "the {statement} of {source}", "{source}{statement}")
    for template, limit, cut in product(templates, (None, 6, 9), ("source", "end")):
        made = PromptTokens(tokenizer("$A [SEP] $B:1 [SEP]:1"), template, limit, cut)
        prompts = made.encode(*zip(*pairs, strict=True))
        counts = {"wholes": made.wholes, "calls": made.texts.calls}
        shown = [" ".join(map(str, [*one.ids, one.tokens, one.cut])) for one in prompts[:: 1 if limit == 9 else 5]]
        found[f"{template} {limit} {cut}".replace(" ", "_")] = [*shown, counts]
    for wrong in ("{source} {statement} .", "{source} {source}", "{statement}{statement}"):
        with pytest.raises(ValueError, match="not a template"):
            PromptTokens(tokenizer(), wrong)
    recorded.held("scoring-cuts", found)


class Waves(torch.nn.Module):
    """States that depend on a token's number and place alone."""

    def forward(self, input_ids, attention_mask):
        places = torch.arange(input_ids.shape[1])
        states = torch.stack([torch.sin(input_ids * (n + 1) / 3 + places / 7) for n in range(5)], -1)
        return SimpleNamespace(last_hidden_state=states * attention_mask[..., None])


def test_texts_are_encoded_matched_and_aligned_as_they_were(recorded):
    backend = tokenizer().backend_tokenizer
    encoder = TextEncoder(Waves().eval(), backend, 6, 20, "cpu", padding=3)
    job = JobTexts(encoder, lambda states: torch.nn.functional.normalize(states, dim=-1), 4 * 5 * 11)
    job.prepare([*TEXTS, *TEXTS])
    read = job.read([*TEXTS, "rain of rain"])
    whole = encoder.encode(TEXTS)
    kept = [text in job._kept for text in read]
    pairs = [(first, second) for first in TEXTS for second in TEXTS[:3]]
    sides = match_pairs(pairs, read, lambda item: torch.tensor([float(n % 7) for n in item.ids], dtype=torch.float64))
    found = {
        "read": [[item.ids, item.tokens, item.cut, item.states.sum()] for item in read.values()],
        "kept": [kept, job.held],
        "sides": sides,
        "whole": [item.states.sum() for item in whole],
        "places": [encoder.places(text) for text in TEXTS],
        "firsts": first_products([(whole[place], whole[place - 1]) for place in range(6)]),
        "counts": [wordless_and_counts(read[first], read[second]) for first, second in pairs],
        "spans": [align_tokens(encoder, read, *pair) for pair in pairs[::4]],
    }
    assert first_products([]) == []
    # Cosines near zero have fewer exact digits than a record wants.
    rounded = json.loads(json.dumps(recorded.plain(found)), parse_float=lambda x: round(float(x), 4))
    recorded.held("scoring-encoded", rounded)


def test_a_classifier_reads_each_distinct_pair_once_and_in_order(recorded):
    seen = []

    class Sums(torch.nn.Module):
        config = SimpleNamespace(pad_token_id=3, type_vocab_size=2)

        def forward(self, input_ids, attention_mask, token_type_ids):
            seen.append(list(input_ids.shape))
            masked = input_ids * attention_mask
            logits = torch.stack([masked.sum(1), attention_mask.sum(1), token_type_ids.sum(1)], 1)
            return SimpleNamespace(logits=logits)

    classifier = PairClassifier(Sums(), PairTokens(tokenizer(), 9, "source"), 24, "cpu")
    pairs = [(first, second) for first in TEXTS for second in TEXTS] + [(TEXTS[0], TEXTS[1])]
    table = worded_logits(classifier, *zip(*pairs, strict=True))
    answers = answers_of([text for _, text in pairs], [float(row[0]) for row in table.values], table)
    none = classifier.table([], [])
    assert (none.values.shape, none.tokens, none.cut) == ((0, 0), [], [])
    recorded.held("scoring-logits", {"table": table, "answers": answers, "shapes": sorted(seen)})


def test_pieces_are_found_in_their_texts(recorded):
    text = "One two.  One two.\n One two. Three (four) [1]."
    lists = [["One two."] * 3, ["One  two.", "", "Three"], ["(four) [1].", "One"], ["five", "Three"], []]
    values = np.array([[0.2, 1.5, -3.0], [0.9, 1.5, -2.0]])
    found = {"places": [*(places(text, pieces) for pieces in lists), places("aaa", ["aa", "aa"])]}
    found["best"] = [
        best_pieces(text, statement, units, claims, values[: len(units), : len(claims)])
        for statement in ("One two. Three", "Three One two.")
        for units in (["One two.", "Three"], ["gone", "Three"], [])
        for claims in (["One two.", "Three", "gone"], ["Three"])
    ]
    recorded.held("scoring-places", found)


NAMES = """config.json vocab.txt tokenizer.model chat.jinja model.safetensors pytorch_model.bin model.ckpt model.pth
flax_model.bin tf_model.h5 README.txt onnx.json training_args.bin model.safetensors.index.json
pytorch_model.bin.index.json notes.md"""


def test_the_files_of_a_folder_are_those_that_were_read(recorded, tmp_path):
    found = {}
    safe, pickled = "model.safetensors", "pytorch_model.bin"
    kinds = {"all": {}, "also": {"also": ("*/config.json", "*.md")}, "two": {"files": ("vocab.txt", "model.pth")}}
    for number, left_out in enumerate(((), (safe,), ("config.json",), (pickled, safe))):
        folder = tmp_path / str(number)
        (folder / "1_Pooling").mkdir(parents=True)
        (folder / "1_Pooling" / "config.json").write_text("{}")
        for name in {*NAMES.split()} - {*left_out}:
            named = safe if name.startswith("model") else pickled
            (folder / name).write_text(f'{{"weight_map": {{"a": "{named}"}}}}' if "index" in name else name)
        for kind, wanted in kinds.items():
            try:
                model = find_model(Checkpoint("a/b", "1 MB", **wanted), folder)
                found[f"{number} {kind}"] = [model.files, [path.name for path in model.weights], model.size]
            except UserError as error:
                lacks, _, more = str(error).partition(" lacks ")[2].rpartition(", which")
                found[f"{number} {kind}"] = [lacks.replace(" ", "_"), *recorded.said(more.rpartition(" and ")[2])]
    one = Checkpoint("a/b", "1 MB", "r", ("f",), ("g",))
    found["at"] = [one.at(*to) for to in product((None, "a/b", "c/d"), (None, "s"))]
    file = tmp_path / "0" / "model.pth"
    assert find_model(Checkpoint("a/b", "", files=("x",)), file).files == ("model.pth",)
    with pytest.raises(UserError, match="is a file, and this metric reads a folder"):
        find_model(Checkpoint("a/b", ""), file)
    recorded.held("scoring-files", found)


def test_devices_memory_positions_and_cards_are_what_they_were(recorded, monkeypatch, tmp_path):
    found = {}
    for count, names in product((0, 2), ((), ("auto",), ("0",), ("1", "0"), ("2",), ("auto", "0"))):
        monkeypatch.setattr(torch.cuda, "device_count", lambda count=count: count)
        try:
            found[f"{count} {names}"] = model_loading.devices_of(names)
        except UserError as error:
            found[f"{count} {names}"] = ["refused", *recorded.said(str(error))]
    files = SimpleNamespace(folder=tmp_path, size=1000)
    fits = []
    for free, dtype, size in product((None, 499, 500, 999, 1000, 3999), ("float32", "bfloat16"), (0, 4000)):
        monkeypatch.setattr(model_loading, "free_memory", lambda device, free=free: free)
        try:
            fits.append(model_loading.check_memory(files, dtype, "cpu", size))
        except UserError:
            fits.append("refused")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, GPU-7f")
    found["places"] = [[place.environment for place in local.places(3, names)] for names in ((), ("1", "0"), ("0",))]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    found["places"] += [place.environment for place in local.places(2, ("5",))]
    configs = [("bert", 512, 0), ("roberta", 514, 1), ("mpnet", 514, None), ("t5", None, 0), ("camembert", 1, 5)]
    limits = [
        model_loading.position_limit(SimpleNamespace(model_type=kind, max_position_embeddings=most, pad_token_id=pad))
        for kind, most, pad in configs
    ]
    cards = [model_metric.of_checkpoint(Checkpoint("a/b", "1 MB", "r"), low=0), model_metric.calibrated(0.3)]
    cards += [model_metric.probability(), model_metric.probability("the paper")]
    recorded.held("scoring-devices", {**found, "fits": fits, "limits": limits, "cards": cards})

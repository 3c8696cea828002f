"""cosine:MODEL_ID against sentence-transformers on models made here, and on the packaged MiniLM."""

import json
import shutil
from importlib.metadata import distribution
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.core.config import RunConfig  # noqa: E402
from metaeval.core.errors import UserError  # noqa: E402
from metaeval.runs.metrics import load_metric  # noqa: E402
from metaeval.scoring.backends import minilm  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.cosine import Cosine  # noqa: E402

PAIRS = [
    ("The Kestrel lighthouse was built in 1871. It was automated in 1983.", "The lighthouse was built in 1871."),
    ("The Kestrel lighthouse was built in 1871. It was automated in 1983.", "Kettles with a steel body get hot."),
    ("In São Paulo there is a café with a naïve façade.", "THE BOARD REFUSED."),
    ("Water boils at 93 degrees on a mountain. " * 30, "Water boils."),
    ("Hold them by the handle.", "Hold them by the handle."),
]


@pytest.fixture(scope="module")
def sentence_transformers():
    return pytest.importorskip("sentence_transformers", reason="comes with the extra 'dev'")


@pytest.fixture(scope="module")
def saved(tiny, tmp_path_factory, sentence_transformers):
    """Makes a folder as sentence-transformers saves it: `saved(kind, pooling)`."""
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    def make(kind="bert", pooling="mean", limit=64, lower=False, normalise=True):
        folder = tmp_path_factory.mktemp("saved")
        word = Transformer(str(tiny.folder(kind)), max_seq_length=limit, do_lower_case=lower)
        modules = [word, Pooling(32, pooling_mode=pooling), *([Normalize()] if normalise else [])]
        sentence_transformers.SentenceTransformer(modules=modules, device="cpu").save(str(folder))
        return folder

    return make


def library(sentence_transformers, folder, pairs=PAIRS, before=("", "")):
    """The library's own cosines."""
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    sides = [[before[side] + pair[side] for pair in pairs] for side in (0, 1)]
    one, other = (model.encode(side, normalize_embeddings=True) for side in sides)
    return (one * other).sum(axis=1).tolist()


def ours(folder, pairs=PAIRS, **options):
    return [a.score for a in score_pairs(Cosine(Cosine.Options(model=folder, **options)), pairs).answers]


@pytest.mark.parametrize(
    ("kind", "pooling"),
    [("bert", pooling) for pooling in ("mean", "cls", "max", "mean_sqrt_len_tokens")] + [("roberta", "mean")],
)
def test_the_cosine_of_sentence_transformers(saved, sentence_transformers, kind, pooling):
    folder = saved(kind, pooling, normalise=pooling != "cls")
    assert ours(folder) == pytest.approx(library(sentence_transformers, folder), abs=1e-5)


def test_lower_casing_and_the_input_limit_are_the_folder_s(saved, sentence_transformers):
    folder = saved("roberta", limit=16, lower=True)
    # A release of the library that does not write these two into the folder would make this test say nothing.
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16, "do_lower_case": True}))
    assert ours(folder) == pytest.approx(library(sentence_transformers, folder), abs=1e-5)
    answers = score_pairs(Cosine(Cosine.Options(model=folder)), PAIRS).answers
    assert answers[3].cut > 100
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16, "do_lower_case": False}))
    assert abs(ours(folder)[2] - answers[2].score) > 1e-4


def test_the_packaged_minilm_whose_folder_is_in_the_older_form(sentence_transformers):
    found = distribution(minilm.FILES.package)
    folder = Path(str(found.locate_file(minilm.FILES.folder)))
    assert "pooling_mode_mean_tokens" in (folder / "1_Pooling" / "config.json").read_text(encoding="utf-8")
    assert ours(folder) == pytest.approx(library(sentence_transformers, folder), abs=1e-5)


def test_prompts_go_before_the_texts(saved, sentence_transformers):
    folder = saved()
    prompted = ours(folder, source_prompt="premise: ", statement_prompt="hypothesis: ")
    assert prompted == pytest.approx(
        library(sentence_transformers, folder, before=("premise: ", "hypothesis: ")), abs=1e-5
    )
    assert max(abs(a - b) for a, b in zip(prompted, ours(folder), strict=True)) > 1e-3
    changed(folder, "config_sentence_transformers.json", prompts={"q": "query: "}, default_prompt_name="q")
    assert ours(folder, [("", "A."), ("A.", "\u200b")], source_prompt="premise: ") == [None, None]


def test_the_id_may_follow_the_name():
    metric = load_metric("cosine:BAAI/bge-small-en-v1.5", RunConfig())
    assert metric.options.model == "BAAI/bge-small-en-v1.5"
    assert metric.wanted.also  # or its pooling would never be downloaded


def changed(folder, name, **values):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


def test_the_pooling_is_part_of_the_identity(saved):
    folder = saved()
    before = Cosine(Cosine.Options(model=folder)).identity()
    changed(folder, "1_Pooling/config.json", pooling_mode="cls")
    assert Cosine(Cosine.Options(model=folder)).identity() != before


def module(number, **values):
    """Change a module of a folder."""

    def change(folder):
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        modules[number] |= values
        (folder / "modules.json").write_text(json.dumps(modules))

    return change


REFUSED = {
    "a dense layer": (module(2, path="2_Dense", type="sentence_transformers.models.Dense"), "Pooling, Dense: "),
    "code of its own": (module(0, type="custom_st.Transformer"), "Transformer, Pooling, Normalize: "),
    "last token": (
        lambda folder: changed(folder, "1_Pooling/config.json", pooling_mode="lasttoken"),
        r"pools by lasttoken: .*mean, cls and max",
    ),
    "two poolings": (
        lambda folder: changed(folder, "1_Pooling/config.json", pooling_mode=["mean", "max"]),
        r"pools by mean and max",
    ),
    "a default prompt": (
        lambda folder: changed(
            folder, "config_sentence_transformers.json", prompts={"q": "query: "}, default_prompt_name="q"
        ),
        r"puts 'query: ' before texts: set source_prompt",
    ),
    "no pooling file": (lambda folder: shutil.rmtree(folder / "1_Pooling"), r"lacks 1_Pooling/config.json"),
    "no modules": (lambda folder: (folder / "modules.json").unlink(), r"no modules.json.*'pooling'"),
    "broken modules": (lambda folder: (folder / "modules.json").write_text("{"), r"is not JSON .*fetch its files"),
    "broken weights": (
        lambda folder: (folder / "model.safetensors").write_bytes(b"broken"),
        r"cannot be loaded .*fetch its files again",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_that_a_model_asks_for_is_left_out_silently(saved, name):
    spoil, sentence = REFUSED[name]
    folder = saved()
    spoil(folder)
    with pytest.raises(UserError, match=sentence):
        ours(folder)


def test_a_plain_encoder_is_pooled_as_the_user_says(tiny, saved):
    from transformers import AutoModel, AutoTokenizer

    folder = tiny.folder("bert")
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def first(text):
        with torch.no_grad():
            return model(**tokenizer(text, return_tensors="pt", truncation=True)).last_hidden_state[0, 0]

    expected = [float(torch.cosine_similarity(first(source), first(statement), dim=0)) for source, statement in PAIRS]
    assert ours(folder, pooling="cls") == pytest.approx(expected, abs=1e-5)

"""A metric named by its model's place, METRIC:FOLDER: one rule in every command, and what is said without the model."""

import json
import random
import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra 'models'")

import metaeval
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.runs.metrics import find_cutoff, load_metric, read_thresholds
from tests.metrics_zoo.stand_ins import NLI, SMALL

WORDS = "lighthouse ridge harbour trial adults asthma yeast water degrees mountain kettle steel".split()
QUICK = ("-p", "classification", "-s", "interval.resamples=0", "-s", "controls=false")


@pytest.fixture
def here(tiny, tmp_path, monkeypatch, write_corpus):
    """The current folder: two NLI models of one name, one whose labels nothing tells, and nine pairs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    shutil.copytree(tiny.folder("deberta-v2", **SMALL, id2label=NLI), "my-nli")
    shutil.copytree(tiny.folder("roberta", **SMALL, id2label=NLI), "other/my-nli")
    shutil.copytree(tiny.folder("bert", name="unnamed", **SMALL), "unnamed")
    write_corpus(name="nine.jsonl")
    return tmp_path


@pytest.fixture
def answers(here):
    """60 answers with two citations each, and the levels of all citations."""
    chance = random.Random(0)
    with open("answers.jsonl", "w") as file, open("labels.csv", "w") as labels:
        labels.write("id,level\n")
        for number in range(60):
            passages = [{"title": f"p{at}", "text": f"The {' '.join(chance.choices(WORDS, k=9))}."} for at in (1, 2)]
            text = " ".join(f"The {' '.join(chance.choices(WORDS, k=5))} [{at}]." for at in (1, 2))
            answer = {"id": f"a{number}", "group": f"g{number}", "text": text, "passages": passages}
            file.write(json.dumps(answer) + "\n")
            labels.writelines(f"a{number}/{at}[{at}],{chance.choice(['full', 'none'])}\n" for at in (1, 2))
    return here / "answers.jsonl"


def scores(folder="results/latest"):
    """The scores of a job's pairs, by metric."""
    head, *rows = map(json.loads, Path(folder, "pairs.jsonl").read_text(encoding="utf-8").splitlines())
    return {name: [row["scores"][number] for row in rows] for number, name in enumerate(head["columns"])}


def test_a_run_shows_a_short_name_and_finds_scores_by_the_models_content(here, ran):
    data = ("-d", "jsonl", "--data", "nine.jsonl", *QUICK)
    first = ran("run", "-m", "nli:./my-nli", *data)
    assert "nli:my-nli" in first.out
    assert "Next: metaeval compare nli:./my-nli overlap" in first.out
    (before,) = scores().values()
    assert "from the store" not in first.err
    shutil.copytree("my-nli", "copies/elsewhere")
    assert "nli:elsewhere: 9 of 9 pairs from the store" in ran("run", "-m", "nli:copies/elsewhere", *data).err
    assert scores() == {"nli:elsewhere": before}
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(f"other/my-nli/{name}", "my-nli")
    assert "from the store" not in ran("run", "-m", "nli:./my-nli", *data).err
    assert scores()["nli:my-nli"] != before


def test_two_folders_of_one_name_are_two_metrics(here, ran):
    both = "nli:./my-nli,nli:other/my-nli,nli:my-nli/,ensemble:overlap+nli:./other/my-nli"
    ran("run", "-m", both, "-d", "jsonl", "--data", "nine.jsonl", *QUICK)
    found = scores()
    assert [*found] == [f"nli:{here.name}-my-nli", "nli:other-my-nli", "ensemble:overlap+nli:other-my-nli"]
    assert len({tuple(values) for values in found.values()}) == 3
    again = ran("results", "rerun", "latest")
    assert "the same bytes" in again.out


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("nli:./nowhere", "no model nowhere, and the folder . holds my-nli, nine.jsonl, other, unnamed"),
        ("nli:other/my-nli/none", "my-nli/none could not be"),
        ("nli:./other", "The folder other lacks config.json"),
        ("nli:my-nli/config.json", "is a file, and this metric reads a folder: name my-nli"),
        ("nli:./unnamed", "metric_options.nli.labels=entailment,neutral,contradiction"),
        ("alignscore:./my-nli", "lacks AlignScore-large.ckpt"),
        ("summac:./my-nli", "METRIC:FOLDER"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(here, cli, metric, said):
    ended = cli("run", "-m", metric, "-d", "jsonl", "--data", "nine.jsonl", *QUICK)
    sentence = next(line for line in ended.err.splitlines() if line.startswith("metaeval: "))
    assert said in sentence or "is not a model's id" in sentence
    assert ended.code == 2


def test_labels_are_said_by_the_option(here, ran):
    labels = ("-s", "metric_options.nli.labels=entailment,neutral,contradiction")
    ran("run", "-m", "nli:./unnamed", "-d", "jsonl", "--data", "nine.jsonl", *QUICK, *labels)
    assert 0 < scores()["nli:unnamed"][0] < 1


def test_a_citation_pipeline_judges_by_a_folder_without_a_threshold(answers, ran):
    ended = ran("cite", "aliice", answers, "--nli", "nli:./my-nli")
    assert "nli:my-nli: supported from 0.5 on" in ended.out
    ended = ran("cite", "alce", answers, "--nli", "nli:other/my-nli", "--threshold", "nli:other/my-nli=0.4")
    assert "nli:my-nli: supported from 0.4 on (as given)" in ended.out


def test_labels_and_gates_take_a_folder_and_know_other_weights(answers, ran, refused):
    assert "nli:my-nli" in ran("estimate", answers, "--labels", "labels.csv", "-m", "nli:./my-nli").out
    terms = ("--max-missed", "0.95", "-s", "max_flagged=0.99", "--max-unsupported", "0.9", "-o", "gate.json")
    ran("gate", "fit", answers, "--labels", "labels.csv", "-m", "nli:./my-nli", *terms)
    assert "PASSED" in (checked := ran("gate", "check", answers, "gate.json").out) or "UNDECIDED" in checked
    shutil.rmtree("my-nli")
    assert "There is no model my-nli" in refused("gate", "check", answers, "gate.json")
    shutil.copytree("other/my-nli", "my-nli")
    assert "The gate was fitted with checkpoint my-nli@sha256:" in refused("gate", "check", answers, "gate.json")


def test_thresholds_scores_and_python_take_a_folder(here, ran):
    data = ("-d", "jsonl", "--data", "nine.jsonl")
    learnt = ran("thresholds", "nli:./my-nli", "--learn", "-s", "folds=3", *data).out
    assert "--nli nli:./my-nli -s calibration=" in learnt
    ran("score", "-m", "nli:./my-nli", *data, "-o", "scores")
    assert "nli:my-nli" in ran("evaluate", "scores/nli.my-nli.jsonl", *data, *QUICK).out
    assert "ready" in ran("metrics", "show", "nli:./my-nli").out
    (plain,) = metaeval.score("nli:./my-nli", ["Water boils."], ["It boils."])
    (less,) = metaeval.score("nli:./my-nli", ["Water boils."], ["It boils."], score="ent-minus-con")
    assert 0 < plain.score < 1
    assert less.score < plain.score
    results = metaeval.run(metrics=["nli:./my-nli"], protocols="classification", dataset="jsonl", data="nine.jsonl")
    assert [row.metric for row in results[0].rows if row.kind == "metric"] == ["nli:my-nli"]
    with pytest.raises(UserError, match="There is no model nowhere"):
        metaeval.score("nli:./nowhere", ["a"], ["b"])


def test_a_classifier_has_a_threshold_by_default(here):
    for name, options, value in (
        ("nli:./my-nli", {}, 0.5),
        ("nli:./my-nli", {"score": "ent-minus-con"}, 0.0),
        ("summac-zs:./my-nli", {}, 0.0),
        ("autoais:./my-nli", {}, 0.5),
    ):
        config = RunConfig(metric_options={name: options} if options else {})
        assert find_cutoff(name, load_metric(name, config), {}).value == value
    assert read_thresholds("nli:./my-nli=0.3", ["nli:my-nli"]) == {"nli:my-nli": 0.3}


LARGE = {
    "autoais": "google/t5_xxl_true_nli_mixture",
    "alignscore": "yzha/AlignScore",
    "summac-zs": "tals/albert-xlarge-vitaminc-mnli",
    "summac-conv": "tals/albert-xlarge-vitaminc-mnli",
    "factcc": "manueldeprada/FactCC",
    "bertscore": "microsoft/deberta-xlarge-mnli",
    "bartscore": "facebook/bart-large-cnn",
}


@pytest.fixture
def way_out(here, cli):
    """The commands that are printed where a metric's published model is missing."""

    def printed(metric):
        ended = cli("run", "-m", metric, "-d", "jsonl", "--data", "nine.jsonl", *QUICK)
        lines = [line for line in ended.err.splitlines() if line.startswith(("metaeval: ", "  "))]
        assert (ended.code, len(lines) <= 8, LARGE[metric] in lines[0]) == (2, True, True)
        assert " GB" in lines[0] or " MB" in lines[0]
        return [shlex.split(line.partition(" metaeval ")[2]) for line in lines if " metaeval " in line]

    return printed


@pytest.mark.parametrize("metric", LARGE)
def test_without_a_model_five_commands_lead_out(way_out, metric):
    out = [words[0] for words in way_out(metric) if "-d" in words]
    assert out == ["run", "pairs", "score", "evaluate", "run"]


def test_every_command_of_the_way_out_works(way_out, tiny, here, ran):
    here_again, pairs, there, evaluated, other = way_out("factcc")
    shutil.copytree(tiny.folder("bert", **SMALL, num_labels=2), "FactCC")
    assert "factcc:FactCC" in ran(*here_again).out
    ran(*pairs)
    # The other machine has the model: its name is typed there.
    at = there.index("factcc")
    ran(*there[:at], "factcc:./FactCC", *there[at + 1 :])
    (here / "factcc.FactCC.jsonl").rename("factcc.jsonl")
    assert "factcc" in ran(*evaluated).out
    assert "support-mini" in ran(*other).out

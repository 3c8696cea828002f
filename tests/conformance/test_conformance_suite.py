"""What `pytest --pyargs metaeval.conformance` says of what is broken; what is whole: `cli/test_cli_own_package.py`."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from metaeval import registry
from metaeval.citation.pipelines.pipeline import Pipeline, ReadsAnswers
from metaeval.conformance import dataset, metric, protocol, test_conformance
from metaeval.conformance.analysis import CHECKS as ANALYSIS_CHECKS
from metaeval.conformance.analysis import AnalysisSubject
from metaeval.conformance.pipeline import CHECKS, PipelineSubject, declares_itself

HERE = Path(__file__).parent

BROKEN = {
    "metric": {
        "NoMetric": "is not a metric: give a subclass of metaeval.scoring.contract.Metric",
        "NoCard": "NoCard has no card: set `card = MetricCard(",
        "NoLicence": "The card's licence is empty: fill it",
        "Two": "score returned 2 results for 38 pairs: return one PairScore for each pair, in the order given.",
        "Numbers": "score returned 0.5, not a PairScore: return PairScore(score).",
        "NotFinite": "score returned PairScore(nan): a score is a finite number; where there is none, return "
        "PairScore(None",
        "Percent": ", outside the card's range 0.0 to 1.0: correct low and high, or the score.",
        "ZeroForEmpty": "has no words and got 0.0 with status 'ok': return PairScore(None, Status.EMPTY) for it.",
        "Uncounted": "A pair of 701 words gets tokens=0 from a metric with input_limit=512: give the number",
        "Cumulative": "a pair's score must not depend on the other pairs of the call (mask the padding, keep no "
        "state).",
        "Inverted": "the first has to be lower, as the card's direction is -1.",
        "Raising": "score raised KeyError: 'lost'. See the traceback.",
        "Pathed": "Two instances with the same options have different identities",
        "OpenRange": "The card's range is 1.0 to 1.0: low has to be below high.",
        "OneLimit": "The card says truncation='none' and input_limit=512: set both where long inputs are cut",
        "SameForAll": "pairs get only 1 different scores: return one that depends on the texts.",
        "Doubtful": "with status 'empty': a number goes with Status.OK, None with every other status.",
        "CutMore": "both are whole numbers, cut at most tokens.",
        "CutUnseen": "has cut=0 with input_limit=512: cut is how many tokens the metric never saw",
        "Heavy": "explain returned the weight 1.5: it lies from -1 to 1.",
        "Beyond": "characters: a span begins and ends within its text, and is not empty.",
    },
    "dataset": {
        "NO_SPLIT": "The default split is 'test', and files has all: list it there.",
        "NO_TITLE": "The card's title is empty: fill it",
        "ODD_DEFAULT": "Option 'kind' has the default 'c', which is not among the values allowed.",
        "ONE_GROUP": "All of the split 'all' is in one group: set `group` to the question, answer or article",
        "NO_HELP": "Option 'kind' has no help: say in one sentence what it does.",
        "NO_URL": "The file 'rivers.csv' has no name or no URL: give both.",
        "SHORT_SUM": "The file 'rivers.csv' has the checksum 'ab12' and the size 9: give 64 hexadecimal digits",
        "SIZELESS": "and the size 0: give 64 hexadecimal digits",
        "OTHER_KIND": "The card's kind is 'rivers': it is 'corpus' or 'ratings', after what load returns.",
        "UNJUDGED": "The split 'all' has no citations: return at least one that was judged.",
        "TEXTLESS": "Statement 's0' of the split 'all' has no text or no group: drop it and count it in `dropped`.",
        "ONE_LEVEL": "All of the split 'all' has one level: no measure can distinguish metrics there.",
        "COUNTLESS": "The split 'all' drops 0 rows for the reason 'no text': give reasons in words",
        "SHUFFLED": "Two loads of the split 'all' differ: read the files in a fixed order, and draw nothing at random.",
        "LISTED": "The split 'all' is a list and the card says kind='corpus': return a Corpus, or change the card.",
        "LOST": "Loading the split 'all' raised KeyError: 'rivers.jsonl'. Raise metaeval.errors.UserError",
    },
    "protocol": {
        "CHANGING": "evaluate changed its input on 'plain': work on copies",
        "ZERO": "gap is 0.0 on the input 'all unscored': return Estimate(None, note='no scored pairs').",
        "UNCOUNTED": "excluded rows are not the 300 given: count every row once.",
        "UNSEEDED": "Two runs with one seed differ: draw with metaeval.stats.resampling.bootstrap, from the seed "
        "given.",
        "UNCHECKED": "A score of inf has to raise a ValueError of one sentence",
        "TWO_WAYS": "both have to compute the same.",
        "MUTE": "title or about is empty: say in one sentence what it measures.",
        "OLD_OPTIONS": "Option 'form' is not whole: give Option(about, {value: what it means, ...})",
        "HEADLESS": "The headline is 'gapp', which is not a measure: choose among gap.",
        "NO_MEASURES": "The protocol has no measures: declare at least one Measure(key, label).",
        "TWICE": "Two measures have one key, among gap, gap: give each its own.",
        "WORDLESS": "Measure 'gap' has no `about`: say in one sentence what it is.",
        "FLAT": "Measure 'gap': scale and span have to be above 0.",
        "SPANLESS": "Measure 'gap': scale and span have to be above 0.",
        "SHOWS_NONE": "shown gives nothing: it has to be keys of measures, which are gap.",
        "TABLED": "table_measures has keys that no measure has: choose among gap.",
        "SIGNED": "Option 'seed' is called like a field of every signature: choose another name.",
        "HALF_OPEN": "gap has one end of an interval only: give both, or none.",
        "TURNED": "gap has ends 1.0 and 0.0: the lower one first.",
        "TURNED_TIES": "gap has ends 0.4 and 0.3: the lower one first.",
        "INFINITE": "gap holds inf: numbers are finite floats; what is undefined is None, with a note.",
        "WHOLE_NUMBER": "gap holds 1: numbers are finite floats; what is undefined is None, with a note.",
        "SILENT": "gap is undefined without a note, or has an interval all the same: say in `note` why it is None.",
        "EMPTY_REASON": "excluded holds a reason without rows: leave it out.",
        "MORE_KEYS": "estimates has gulf, which are not measures: declare them.",
        "FEWER_KEYS": "estimates lacks gap, which `shown` names: return Estimates.",
        "MUMBLED": "The warning 'few rows' is not a sentence: begin with a capital and end with a full stop.",
        "UNENDED": "The warning 'Few rows' is not a sentence: begin with a capital and end with a full stop.",
        "EMPTY_TIES": "tie_orders is set and no estimate has `ties`",
        "LISTS": "evaluate returned list: return a protocols.contract.Outcome.",
    },
    "pipeline": {
        "HELPLESS": "The first line of help is 'Marks': make it one sentence, which stands in lists.",
        "UNDESCRIBED": "Option 'opening' has no description: give Field(description=...), which its help shows.",
        "JUDGELESS": "backends='many' needs options that name metrics: add JudgedByMetrics to the options' bases.",
        "TABLELESS": "lay_out returns no table: return Layout([sheet])",
        "BROKEN_READ": "The pipeline raised KeyError: 'passages'. See the traceback.",
        "TIMED": "Two runs on the same answers differ in results/cite/marked/answers-",
    },
    "analysis": {
        "NO_ANALYSIS": "is not an analysis: give an instance of metaeval.analyses.analysis.Analysis.",
        "UPPER": "The analysis's name is 'Levels': give one word in lower case, or a group and a word.",
        "WORDY": "one by one.': give one sentence of at most 62 characters, ended by a stop.",
        "OPEN_END": "The summary is 'Count the rows': give one sentence of at most 62 characters, ended by a stop.",
        "NO_MODEL": "options is not a class of options: give a subclass of AnalysisOptions, such as PanelOptions.",
        "UNSAID": "Option 'lowest' has no description that ends in a full stop: write one under it, for its help.",
        "SAME_NAME": "The command 'levels' has --fewest twice, for lowest and for fewest: rename a field, or give it",
        "SAME_LETTER": "The command 'levels' has -d twice, for lowest and for dataset: rename a field, or give it",
        "QUIETER": "The command 'levels' has --quiet twice, for quiet and for quiet: rename a field, or give it",
        "RETYPED": "Option 'dataset' is declared again with another type than in LevelOptions: rename it.",
        "NEEDED_LAST": "Give each field a default, or place it before those that have one.",
        "NOT_THERE": "untyped names budgte, which the options do not have: correct the name.",
        "EXAMPLE": "The example 'levels --lowest 2' cannot be typed: No such option: --lowest",
        "HELP": "The example 'levels --help' runs nothing: type a whole command, without --help.",
        "OPEN": "An unknown option is accepted: leave extra='forbid'.",
        "CRASHING": "The value '?' of option 'kind' raised KeyError: '?'. Raise ValueError in a validator",
        "ELSEWHERE": "The run of the first example (give others by --option KEY=VALUE) ended with:",
        "NONE": "run returns NoneType: return a metaeval.analyses.analysis.Done.",
        "PRINTING": "run prints 'done': return that in Done, as sentences.",
        "WRITING": "run writes levels.txt: return a function that does in Done.files or outputs.",
        "CHANGING_RUN": "Two runs differ: draw from a seed in the options",
    },
}


@pytest.fixture(scope="module")
def conformance(start):
    """Exit code and output of the suite, run as an outsider does: beside the package, away from the project."""

    def ran(*arguments):
        words = ("-p", "no:cacheprovider", "--pyargs", "metaeval.conformance", *arguments)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        suite = start(*words, module="pytest", cwd=HERE, env={**os.environ, "COLUMNS": "300"}, **streams)
        said = suite.communicate(timeout=600)
        return suite.returncode, "".join(said)

    return ran


WHOLE = {"metric": ("SharedWords",), "analysis": ("STORING",)}
KINDS = {
    "metric": (metric.CHECKS, metric.MetricSubject),
    "dataset": (dataset.CHECKS, dataset.DatasetSubject),
    "protocol": (protocol.CHECKS, protocol.ProtocolSubject),
    "pipeline": (CHECKS, PipelineSubject),
    "analysis": (ANALYSIS_CHECKS, AnalysisSubject),
}


@pytest.fixture(scope="module")
def told():
    """The failures of the suite's checks of everything that is broken, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        scratch = importlib.import_module("scratch")
        names = {kind: [*BROKEN[kind], *WHOLE.get(kind, ())] for kind in BROKEN}
        return {
            name: "\n".join(failures(*KINDS[kind], getattr(scratch, name))) for kind in names for name in names[kind]
        }


def failures(checks, subject_of, value):
    """The message of each check that fails; a check may take for granted what those before it say."""
    subject = subject_of(value)
    for number in range(len(checks)):
        try:
            test_conformance.test_contract(checks[: number + 1], subject)
        except pytest.fail.Exception as failure:
            yield str(failure)
        except pytest.skip.Exception:
            continue


@pytest.mark.parametrize(
    ("name", "sentence"), [(name, sentence) for names in BROKEN.values() for name, sentence in names.items()]
)
def test_what_is_broken_is_told_what_to_do(told, name, sentence):
    assert sentence in told[name]


@pytest.mark.parametrize("name", [name for names in WHOLE.values() for name in names])
def test_what_is_whole_is_not_complained_of(told, name):
    assert told[name] == ""


def test_typed_as_an_outsider_does_the_suite_fails_with_its_sentences(conformance):
    code, said = conformance("--metric=scratch:NoLicence", "--metric=scratch:SharedWords")
    assert code == 1, said
    assert BROKEN["metric"]["NoLicence"] in said
    assert "test_contract[scratch:SharedWords" not in said
    assert "assert " not in said
    assert not re.search("^E  ", said, re.MULTILINE), said


def test_without_a_name_or_with_a_wrong_one_the_suite_says_what_to_give(conformance):
    assert "Nothing to check: give --metric, --dataset, --protocol" in conformance()[1]
    code, said = conformance("--metric=overlapp")
    assert code != 0
    assert "Did you mean 'overlap'" in said


def test_options_are_known_to_the_suite_alone(tmp_path):
    (tmp_path / "test_mine.py").write_text("def test_mine(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--metric=overlap", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    assert done.returncode == 4
    assert "unrecognized arguments: --metric=overlap" in done.stderr


@pytest.mark.parametrize("name", registry.names("analysis"))
@pytest.mark.parametrize("check", ANALYSIS_CHECKS[:3], ids=lambda check: check.__name__)
def test_every_analysis_is_declared_whole(name, check):
    check(AnalysisSubject(registry.find("analysis", name), name=name))


PIPELINES = [registry.find("pipeline", name) for name in registry.names("pipeline")]
RUNNABLE = [one for one in PIPELINES if issubclass(one.options, ReadsAnswers) and one.chat != "always"]


@pytest.mark.parametrize(
    ("pipeline", "check"),
    [*((one, declares_itself) for one in PIPELINES), *((one, check) for one in RUNNABLE for check in CHECKS[1:])],
    ids=lambda one: one.name if isinstance(one, Pipeline) else one.__name__,
)
def test_every_pipeline_keeps_the_contract(pipeline, check):
    check(PipelineSubject(pipeline, name=pipeline.name))

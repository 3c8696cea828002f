"""What the command line can do, Python can: the same names, the same tables, from one declaration."""

import inspect
import json
import re
import runpy
from pathlib import Path

import pytest

import metaeval
from metaeval.analyses.analysis import Analysis, own_fields
from metaeval.analyses.function_of_analysis import make_function, signature_of
from metaeval.core import registry
from metaeval.core.declared import flag_of, option_of
from metaeval.report.notebook import Sheets
from tests.cli.samples import every_command

INTERFACE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "interface_page.py"))
QUICK = {"interval": {"resamples": 20}, "comparison": {"permutations": 20}}
TYPED = ["-s", "interval.resamples=20", "-s", "comparison.permutations=20"]

# What is typed behind the command, and the same as keywords; positional arguments stand under "".
SAME = {
    "plan": (["overlap", "rouge", "--difference", "2,5"], {"": ("overlap", "rouge"), "difference": [2, 5]}),
    "compare": (
        ["overlap", "rouge", "-p", "classification"],
        {"": ("overlap", "rouge"), "protocols": "classification"},
    ),
    "thresholds": (["overlap", "-u", "citation"], {"": ("overlap",), "unit": "citation"}),
    "thresholds ": (["overlap", "--learn", "-s", "folds=3"], {"": ("overlap",), "learn": True, "folds": 3}),
}


def registered():
    return {name: registry.find("analysis", name) for name in registry.names("analysis")}


@pytest.mark.parametrize("name", registry.names("analysis"))
def test_a_command_and_its_function_take_the_same(name):
    analysis = registry.find("analysis", name)
    typed = every_command()[name.replace(".", " ")]
    every = {option: getattr(one, "hidden", False) for one in typed.params for option in one.opts}
    parameters = signature_of(analysis.options).parameters

    assert isinstance(analysis, Analysis)
    assert analysis.name.replace(" ", ".") == name
    free = {"settings"} if analysis.options.model_config.get("extra") == "allow" else set()
    assert set(parameters) == set(analysis.options.model_fields) | free
    for field, declared in analysis.options.model_fields.items():
        flag = flag_of(declared)
        if flag.metavar and not flag.argument and field not in analysis.options.untyped:
            assert every[option_of(field, declared)] == flag.hidden
    assert all(analysis.options.model_fields[field].description for field in own_fields(analysis.options))


def test_every_analysis_has_a_function():
    grouped = {name for name in registered() if "." in name}
    groups = {name.partition(".")[0] for name in grouped}
    assert set(metaeval.ANALYSES.values()) - groups | grouped == set(registered())
    for name in sorted(set(metaeval.ANALYSES) - groups):
        function = getattr(metaeval, name)
        assert (function.__name__, inspect.signature(function)) == (name, function.__signature__)
        assert function.__doc__.splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", SAME)
@pytest.mark.usefixtures("quick_plan")
def test_a_command_and_its_function_give_the_same_tables(cli, tmp_path, name):
    typed, keywords = SAME[name]
    name = name.strip()
    written = tmp_path / "typed"

    ended = cli(*name.split("."), *typed, *TYPED, "-q", "--results", str(written))
    positional, keywords = keywords.get("", ()), {key: value for key, value in keywords.items() if key}
    returned = getattr(metaeval, name)(*positional, **keywords, **QUICK, results=tmp_path / "called")

    assert ended.code == 0, ended.err
    assert isinstance(returned, Sheets)
    files = {
        path.stem: json.loads(path.read_text()) for path in written.rglob("*.json") if path.name != "manifest.json"
    }
    sheets = {stem: file["records"] for stem, file in files.items() if "records" in file}
    assert sheets
    for stem, records in sheets.items():
        assert json.loads(json.dumps([dict(record) for record in returned[stem].records])) == records
    assert not [path for path in (tmp_path / "called").rglob("*") if path.suffix in (".json", ".csv", ".tex")]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: metaeval.compare("overlap", margn=1), "Did you mean 'margin'?"),
        (lambda: metaeval.compare("overlap", metrics=["rouge"]), "metrics is given twice"),
        (lambda: metaeval.run(datasets=["mini"]), r"Several data sets \(mini\) need --suite"),
        (lambda: metaeval.estimate("a", "b", "c", "d", "set", "", {}, True, "s", 5), "at most 9 positional arguments"),
    ],
)
def test_a_wrong_argument_is_one_sentence(call, says):
    with pytest.raises(metaeval.core.errors.UserError, match=says.replace("?", r"\?")):
        call()


def test_the_stub_and_the_page_of_the_interface_are_what_the_declarations_say():
    """A public signature changes with both: run `python docs/interface_page.py`."""
    assert INTERFACE["STUB"].read_text(encoding="utf-8") == INTERFACE["stub"]()
    assert INTERFACE["PAGE"].read_text(encoding="utf-8") == INTERFACE["page"]()


def test_every_parameter_of_the_interface_is_described():
    """In a numpydoc section of the docstring; settings of a run in that of `RunConfig`."""
    public = {name: getattr(metaeval, name) for name in metaeval.HOMES}
    public |= {name: make_function(analysis, name) for name, analysis in registered().items()}
    lacking = {}
    for name, of in public.items():
        kinds = ("__dataclass_fields__", "model_fields", "_fields", "__members__")
        wanted = next((set(getattr(of, kind)) for kind in kinds if hasattr(of, kind)), None)
        wanted = set(inspect.signature(of).parameters) if wanted is None else wanted
        pattern = r"^(?:(?:Other )?Parameters|Attributes)\n-+\n(.*?)(?=\n\n[^\n]+\n--|\Z)"
        sections = re.findall(pattern, inspect.getdoc(of), re.MULTILINE | re.DOTALL)
        entries = re.findall(r"^(\S.*?)(?: : .*)?\n    \S", "\n".join(sections), re.MULTILINE)
        elsewhere = set(metaeval.RunConfig.model_fields) if "help(metaeval.RunConfig)" in of.__doc__ else set()
        lacking[name] = wanted - elsewhere - {word for entry in entries for word in re.findall(r"\w+", entry)}
    assert {name: sorted(words) for name, words in lacking.items() if words} == {}
    assert len(lacking) > 60
    assert re.findall("(?:--)?half.width: the", " ".join(public["plan"].__doc__.split())) == ["half_width: the"]


def test_settings_of_a_file_count_where_the_analysis_has_them(tmp_path):
    Path(tmp_path / "mine.yaml").write_text("metrics: [overlap, rouge]\nprotocols: [retrieval]\nchunk: {size: 60}\n")
    options = registry.find("analysis", "plan").options_of({"config": tmp_path / "mine.yaml"})
    assert (options.metrics, options.chunk.size, options.names_metrics) == (("overlap", "rouge"), 60, True)

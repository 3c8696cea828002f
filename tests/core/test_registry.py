"""Names to things: lazily, with the nearest name, and never two things under one name."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from metaeval.core import registry
from metaeval.core.errors import UserError
from metaeval.core.files import inputs_protected
from metaeval.corpus.dataset import Dataset
from metaeval.scoring.contract import Metric
from protocols.contract import Protocol


@pytest.fixture
def entries(monkeypatch):
    """Put entry points in place of the installed ones."""

    def replace(*given):
        points = [EntryPoint(name, value, "metaeval.metrics") for name, value in given]
        monkeypatch.setattr(registry, "entry_points", lambda group: [p for p in points if p.group == group])
        registry._entries.cache_clear()

    yield replace
    registry._entries.cache_clear()


def test_an_editable_package_that_registers_a_name_since_it_was_installed_is_named(tmp_path, monkeypatch):
    project = tmp_path / "my project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project.entry-points."metaeval.metrics"]\nlongest = "mine:Longest"\n')
    installed = tmp_path / "site" / "mine-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (installed / "direct_url.json").write_text(f'{{"url": "{project.as_uri()}", "dir_info": {{"editable": true}}}}')
    monkeypatch.setattr(sys, "path", [*sys.path, str(installed.parent)])  # behind others
    with pytest.raises(UserError, match=rf"registers it since it was installed: type 'pip install -e {project}' again"):
        registry.find("metric", "longest")
    with pytest.raises(UserError, match=r"Type 'metaeval metrics list'\."):
        registry.find("metric", "longer")


@pytest.mark.parametrize(("kind", "contract"), [("metric", Metric), ("dataset", Dataset), ("protocol", Protocol)])
def test_what_is_registered_carries_its_own_name_and_names_come_sorted(kind, contract):
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = registry.names(kind)
    assert names == sorted(names)
    assert {*names} >= {*declared["entry-points"][f"metaeval.{kind}s"]}
    for name in names:
        found = registry.find(kind, name)
        assert issubclass(found, contract) if kind == "metric" else isinstance(found, contract)
        assert (found.card if kind == "metric" else found).name == name


def test_listing_names_imports_nothing_that_they_stand_for():
    code = (
        "import sys; from metaeval.core import registry\n"
        "for kind in ('metric', 'dataset', 'protocol'): registry.names(kind)\n"
        "heavy = ('metrics_zoo', 'protocols', 'metaeval.corpus', 'numpy', 'scipy', 'torch', 'pydantic')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "registry.find('metric', 'overlap')\n"
        "print([name for name in ('metrics_zoo.rouge', 'metrics_zoo.minilm', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


def test_a_folder_alone_is_told_to_have_its_metric_before_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my-nli").mkdir()
    for name in ("my-nli", "./my-nli"):
        with pytest.raises(UserError, match=r"it is METRIC:FOLDER or METRIC:NAME \(nli:\./my-model\)\."):
            registry.find("metric", name)
    with pytest.raises(UserError, match=f"^{tmp_path / 'mine.yaml'}: Unknown metric 'rogue'"):
        registry.find("metric", "rogue", tmp_path / "mine.yaml")


@pytest.mark.parametrize("name", ["zzz", "a b:c", "os:", ":path", "os:path:join", "os.path"])
def test_what_is_no_module_and_attribute_is_an_unknown_name(name):
    with pytest.raises(UserError, match=f"Unknown metric '{name}'"):
        registry.find("metric", name)


def test_entries_of_one_name_are_one_target(entries):
    entries(("twin", "one.home:Metric"), ("other", "x:Y"), ("twin", "other.home:Metric"))
    with pytest.raises(UserError, match=r"'twin' is one\.home:Metric and other\.home:Metric"):
        registry.names("metric")
    entries(("overlap", "metrics_zoo.overlap:Overlap"), ("overlap", "metrics_zoo.overlap:Overlap"))
    assert registry.names("metric") == ["overlap"]
    assert registry.find("metric", "overlap").card.name == "overlap"
    entries()
    with pytest.raises(UserError, match="metaeval is not installed in this environment: type 'pip install"):
        registry.names("metric")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("no_such_module_at_all:X", "No module named 'no_such_module_at_all'."),
        ("metrics_zoo.overlap:Nothing", "has no attribute 'Nothing'."),
    ],
)
def test_an_entry_that_cannot_be_imported_is_named_with_its_target(entries, value, why):
    entries(("broken", value))
    with pytest.raises(UserError, match=rf"^The metric 'broken' \({value}\) cannot be imported: .*{why}$"):
        registry.find("metric", "broken")


def test_models_that_lie_here_have_short_names(tmp_path, monkeypatch, recorded):
    here = tmp_path / "home"
    here.mkdir()
    monkeypatch.chdir(here)
    for folder in ("m", "a/m", "b/m", "a/x_y", "c/a/m"):
        (here / folder).mkdir(parents=True)
    lists = "overlap|nli:./m|nli:m|nli:./a/m nli:./b/m|nli:./m nli:HERE/m|nli:gone|nli:/m|nli:./a/m nli:./c/a/m"
    lists += "|nli:m nli:./a/m"
    lists += "|ensemble:nli:./m+overlap|nli:./a/x_y|rouge:./m|minilm-cosine:./m|cosine:./a/m nli:./b/m|nli:./m nli:./m"
    lists = [names.replace("HERE", str(here)).split() for names in lists.split("|")]
    found = {"placed": [], "given": []}
    for names in lists:
        given = {"metrics": names, "metric_options": {"nli:./m": {"k": 1}, "nli:m": {"j": 2}, "overlap": {"x": 3}}}
        placed = registry.with_places(given)
        told = json.dumps([placed["metrics"], placed["metric_options"]]).replace(str(here), "HERE")
        found["placed"].append(json.loads(told))
        for name in placed["metrics"]:
            assert registry.retyped(name, placed["metric_options"]) in names or name.startswith("ensemble")
    with inputs_protected(from_python=True):
        for value in ("overlap", 3, len, print, lambda: 1, own, Own, type("overlap", (), {}), type("own", (), {}), own):
            found["given"].append(recorded.told(registry.name_of, "metric", value))
        found["taken"] = [
            recorded.told(registry.refuse_given, kind, names, "a file")
            for kind, names in (("metric", ["Own"]), ("metric", ["x"]), ("dataset", ["Own"]))
        ]
        found["known"] = [registry.is_given("metric", name) for name in ("Own", "own", "overlap")]
    found["later"] = [registry.name_of("metric", "Own"), registry.is_given("metric", "Own")]
    found["typed"] = [recorded.told(registry.check_typed, "metric", name) for name in ("overlap", "mine:M")]
    (here / "mine.py").write_text("class M: pass")
    (here / "table.csv").touch()
    asked = ("metric", "mine"), ("metric", "mine.py"), ("dataset", "table.csv"), ("metric", "m"), ("metric", "os")
    found["next"] = [registry.next_for(*each).split()[-1] for each in asked]
    monkeypatch.setattr(sys, "path", [*sys.path])
    found["found"] = [
        recorded.told(registry.find, "metric", name, None, True) for name in ("mine:M", "mine:N", "gone.py:M")
    ]
    found["code"] = [recorded.told(registry.find, "metric", name) for name in ("mine:M", "a b:c")]
    found["place"] = recorded.told(registry.find, "metric", "mine:N", Path("file.yaml"), code=True)
    recorded.held("core-registry", found)


def own():
    """A function of the user's own."""


class Own:
    """A class of the user's own."""

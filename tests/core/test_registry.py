"""Names to things: lazily, with the nearest name, and never two things under one name."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from metaeval.core import registry
from metaeval.core.errors import UserError
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
    monkeypatch.syspath_prepend(installed.parent)
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

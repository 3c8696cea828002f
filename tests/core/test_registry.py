"""Names to things: lazily, with the nearest name, and never two things under one name."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from metaeval.analyses import FIRST_PAGE, GROUPS, names_in
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


@pytest.mark.parametrize("name", registry.names("metric"))
def test_a_registered_metric_carries_its_own_name(name):
    metric = registry.find("metric", name)

    assert issubclass(metric, Metric)
    assert metric.card.name == name


@pytest.mark.parametrize(("kind", "contract"), [("dataset", Dataset), ("protocol", Protocol)])
def test_registered_datasets_and_protocols_carry_their_own_names(kind, contract):
    for name in registry.names(kind):
        found = registry.find(kind, name)
        assert isinstance(found, contract)
        assert found.name == name


def test_names_come_sorted():
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for kind, group in (("metric", "metrics"), ("dataset", "datasets"), ("protocol", "protocols")):
        names = registry.names(kind)
        assert names == sorted(names)
        assert set(names) >= set(declared["entry-points"][f"metaeval.{group}"])


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


def test_a_name_like_no_other_gets_no_guess():
    with pytest.raises(UserError, match=r"Unknown metric 'zzz'"):
        registry.find("metric", "zzz")


def test_a_folder_alone_is_told_to_have_its_metric_before_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my-nli").mkdir()
    for name in ("my-nli", "./my-nli"):
        with pytest.raises(UserError, match=r"it is METRIC:FOLDER or METRIC:NAME \(nli:\./my-model\)\."):
            registry.find("metric", name)


@pytest.mark.parametrize("name", ["a b:c", "os:", ":path", "os:path:join", "os.path"])
def test_what_is_no_module_and_attribute_is_an_unknown_name(name):
    with pytest.raises(UserError, match="Unknown metric"):
        registry.find("metric", name)


def test_an_error_begins_with_the_file_that_holds_the_name(tmp_path):
    with pytest.raises(UserError) as error:
        registry.find("metric", "rogue", tmp_path / "mine.yaml")

    assert str(error.value).startswith(f"{tmp_path / 'mine.yaml'}: Unknown metric 'rogue'.")


def test_two_targets_under_one_name_are_an_error(entries):
    entries(("twin", "one.home:Metric"), ("other", "x:Y"), ("twin", "other.home:Metric"))

    with pytest.raises(UserError) as error:
        registry.names("metric")

    said = str(error.value)
    assert said.startswith("Two packages register the metric 'twin': one.home:Metric and other.home:Metric.")
    assert "Uninstall one of them" in said


def test_one_target_listed_twice_is_one_entry(entries):
    entries(("overlap", "metrics_zoo.overlap:Overlap"), ("overlap", "metrics_zoo.overlap:Overlap"))

    assert registry.names("metric") == ["overlap"]
    assert registry.find("metric", "overlap").card.name == "overlap"


def test_no_entry_at_all_means_that_the_package_is_not_installed(entries):
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

    with pytest.raises(UserError) as error:
        registry.find("metric", "broken")

    assert str(error.value).startswith(f"The metric 'broken' ({value}) cannot be imported: ")
    assert str(error.value).endswith(why)


def test_the_first_page_of_help_has_the_summary_of_each_analysis():
    sentences = {name: text for page in FIRST_PAGE.values() for name, text in page.items()}
    assert {*sentences} == {*names_in("")}
    analyses = {name for name in sentences if name in registry.names("analysis")}
    assert {name: registry.find("analysis", name).summary for name in analyses} | GROUPS == sentences

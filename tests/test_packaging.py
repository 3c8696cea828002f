"""What others install: wheel and sdist of a fresh clone hold what they have to, and the command runs from the wheel.

The build backend, hatchling, comes with the extra `dev` (`make test` installs it). `tests/test_wheel.py` installs the
working tree without extras and runs jobs there.
"""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import metaeval

ROOT = Path(__file__).parents[1]
PACKAGES = ("metaeval", "metrics_zoo", "protocols")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def call(*command, cwd):
    """The output of a command that has to succeed; the modules of the working tree are out of its reach."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if (Path(path) / "hatchling").is_dir())
    words = [str(word) for word in command]
    ended = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling is not installed: it comes with the extra 'dev'")
    if not (ROOT / ".git").exists():
        pytest.skip("not in a git checkout")
    folder = tmp_path_factory.mktemp("clone") / "metaeval"
    call("git", "clone", "-q", ROOT, folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def built(clone):
    """The wheel and the sdist of the clone."""
    call(sys.executable, "-m", "hatchling", "build", cwd=clone)
    (wheel,) = clone.glob("dist/*.whl")
    (sdist,) = clone.glob("dist/*.tar.gz")
    return wheel, sdist


def tracked(clone, *folders):
    return set(call("git", "ls-files", "--", *folders, cwd=clone).splitlines())


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_every_file_of_the_packages_and_the_configs(clone, built):
    names = {name for name in contents(built[0]) if ".dist-info/" not in name}
    configs = {f"metaeval/{name}" for name in tracked(clone, "configs")}
    assert names == tracked(clone, *PACKAGES) | configs
    assert {"metaeval/configs/experiments/offline.yaml", "metrics_zoo/support_mini.npz"} <= names


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(built, tmp_path):
    wheel, sdist = built
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", cwd=source)
    assert contents(source / "dist" / wheel.name) == contents(wheel)


@pytest.mark.slow
def test_pip_installs_a_clone_with_all_that_it_needs_and_no_torch(clone, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    pip = (python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", f"git+{clone.as_uri()}")
    ended = subprocess.run([str(word) for word in pip], cwd=tmp_path, capture_output=True, text=True)
    if ended.returncode and "ould not find a version" in ended.stderr:
        pytest.skip("no package index within reach: what metaeval needs cannot be installed")
    assert ended.returncode == 0, ended.stderr
    # -I: without the packages of PYTHONPATH.
    listed = call(python, "-I", "-m", "pip", "list", "--format", "freeze", cwd=tmp_path)
    assert "torch==" not in listed
    assert "1,054 scored" in call(python, "-I", "-m", "metaeval", "run", "--full", cwd=tmp_path)


def test_the_version_stands_in_one_place_and_the_changelog_has_it():
    assert PROJECT["dynamic"] == ["version"]
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {metaeval.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_address_of_the_repository_stands_in_pyproject_alone():
    address = re.compile(r"https?://(?!HOST)[^\s)>'\"]+/metaeval\b")
    texts = [ROOT / name for name in ("README.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    for path in [*texts, *(ROOT / "docs").glob("**/*.md")]:
        assert not address.findall(path.read_text(encoding="utf-8")), path


def test_the_versions_of_python_are_those_that_are_tested():
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(f'"{version}"' for version in declared)
    assert PROJECT["requires-python"] == f">={declared[0]}"


def test_every_direct_dependency_has_a_lowest_version(tmp_path):
    lines = call(sys.executable, ROOT / ".ci" / "lowest.py", *PROJECT["optional-dependencies"], cwd=tmp_path).split()
    assert len(lines) > len(PROJECT["dependencies"])
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in lines)

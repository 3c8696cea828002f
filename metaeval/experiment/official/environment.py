"""An environment of its own for an official package: exact pins, made once under the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metaeval.cache import cache_folder
from metaeval.errors import UserError
from metaeval.files import sha256_json, write_text

Say = Callable[[str], None]
"""Told what is being done, in a few words."""


@dataclass(frozen=True)
class Environment:
    """A package and what it needs, both pinned exactly.

    The package itself is installed without its own list of needs: that of summac asks for a huggingface-hub (<= 0.17)
    which no transformers of the last years runs with.
    """

    package: str
    needs: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it lies: named after the package, with a hash of all pins and of the Python."""
        pins = sha256_json([self.package, self.needs, sys.version_info[:2]])[:12]
        return cache_folder() / "official" / f"{self.package.replace('==', '-')}-{pins}"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return _python(self.folder)

    def build(self, say: Say) -> None:
        """Make it, if it is not there. Raises `UserError` when it cannot be made; nothing half made is left."""
        if (self.folder / _MARK).is_file() and self.python.exists():
            return
        building = self.folder.with_name(f".{self.folder.name}.{os.getpid()}")
        try:
            building.parent.mkdir(parents=True, exist_ok=True)
            say(f"Making an environment for {self.package} in {self.folder}")
            say("(once; it takes minutes, and 1 GB or more) ...")
            made, installed = f"The environment for {self.package}", f"The official package {self.package}"
            _step([sys.executable, "-m", "venv", str(building)], made, _NO_VENV)
            pip = [str(_python(building)), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            for what in (self.needs, ("--no-deps", self.package)):
                _step([*pip, *what], installed, _NO_INSTALL)
            write_text(building / _MARK, "\n".join([self.package, *self.needs, ""]))
            shutil.rmtree(self.folder, ignore_errors=True)
            building.rename(self.folder)
        except OSError as error:
            raise UserError(
                f"Cannot make {self.folder}: {error.strerror or error}. Free space there, or name another cache folder "
                "with METAEVAL_CACHE."
            ) from error
        finally:
            shutil.rmtree(building, ignore_errors=True)


_MARK = "metaeval-pins.txt"
_NO_VENV = "Python's own venv is needed (on Debian and Ubuntu: apt install python3-venv)"
_NO_INSTALL = "A network and a package index are needed, this once"


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _step(command: Sequence[str], what: str, advice: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, check=False)
    if done.returncode:
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said
        reason = errors[-1][:300] if errors else f"exit code {done.returncode}"
        raise UserError(f"{what} could not be installed ({reason.rstrip('.')}). {advice}.")

# ruff: noqa: T201
"""Print the lowest version of each direct dependency as a constraint: what pyproject.toml says must work.

    python .ci/lowest.py > lowest.txt              # of the core
    python .ci/lowest.py parquet > lowest.txt      # and of extras, by name
    pip install -c lowest.txt .

Exit code 2: there is no such extra.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
_BOUND = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?\s*[>=]=\s*(?P<lowest>[\w.]+)")


def lowest(requirement: str) -> str:
    """The constraint `name==lowest` of a requirement; `ValueError` where it has no lower bound."""
    bound = _BOUND.match(requirement)
    if bound is None:
        raise ValueError(f"{requirement!r} has no lower bound: write it as 'name>=version'")
    return f"{bound['name']}=={bound['lowest']}"


def main(extras: list[str]) -> int:
    """Print the constraints of the core and of the extras; the exit code."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    unknown = [extra for extra in extras if extra not in project["optional-dependencies"]]
    if unknown:
        print(f"pyproject.toml has no extra {', '.join(unknown)}", file=sys.stderr)
        return 2
    requirements = [*project["dependencies"]]
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    print("\n".join(sorted({lowest(requirement) for requirement in requirements})))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

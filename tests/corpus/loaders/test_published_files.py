"""Every published data set on small files of its schema: all that is read of them, and which fault is told where."""

import json
from pathlib import Path

from metaeval.core import registry
from metaeval.corpus.loading import check_options

CASES = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


def test_published_files_are_read_whole_and_faults_are_told(recorded, all_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def load(name, split, files, options):
        for file, content in files.items():
            lines = content if isinstance(content, str) else json.dumps(content)
            if isinstance(content, list):
                lines = "".join(json.dumps(row) + "\n" for row in content)
            Path(file).write_text(lines, encoding="utf-8")
        dataset = registry.find("dataset", name)
        paths = {file: Path(file) for file in files if file != "segments.jsonl"}
        return all_of(recorded.told(dataset.load, split, paths, check_options(dataset, options)))

    found = {}
    for place, case in CASES.items():
        name, _, split = place.partition("/")
        options = [(given.pop("split", split or "all"), given) for given in case["options"]]
        told = [load(name, part, case["files"], given) for part, given in options]
        # A row without a field, and one with a value of no known kind in it, behind a good one.
        row, file = case.get("row", {}), next(iter(case["files"]))
        without = [[row, {key: row[key] for key in row if key != name}] for name in case.get("fields", ())]
        broken = [[row, {**row, name: 3.5}] for name in case.get("fields", ())]
        faults = [load(name, options[0][0], {file: rows}, {}) for rows in (*without, *broken, *case.get("faults", ()))]
        found[place] = [*told, faults] if faults else told
    recorded.held("corpus-published", found)

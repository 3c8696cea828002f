"""A result file that cannot be used: one sentence that names the file and what is wrong."""

import json

import pytest

from metaeval.core.errors import UserError
from metaeval.report.result import SCHEMA, load_result, save_result
from metaeval.report.table_files import load_table, tables_in


@pytest.fixture
def document(result):
    return json.loads(result.model_dump_json(by_alias=True))


def _error(path, document, read=load_result):
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


def test_saving_twice_gives_the_same_bytes_and_loading_the_same_result(result, full, tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    for saved in (result, full):
        save_result(saved, first)
        assert load_result(first) == saved
        save_result(load_result(first), second)
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ('{"a": 1,\n oops}', " is not JSON (line 2: "),
        ({"schema": "metaeval-pairs/1"}, ": schema is 'metaeval-pairs/1'; this version reads 'metaeval-result/3'"),
        *((other, ": schema is None; this version reads") for other in ({}, [], 3)),
        ({"schema": "metaeval-gate/1"}, " is a gate and not a result: type 'metaeval gate check FILE "),
    ],
)
def test_another_file(tmp_path, document, says):
    assert _error(tmp_path / "r.json", document).startswith(says)


@pytest.mark.parametrize("version", ["metaeval-result/1", "metaeval-result/2", "metaeval-result/9", "metaeval-sheet/1"])
def test_a_file_of_another_version_is_refused_with_what_to_type(tmp_path, version):
    for read in (load_result, load_table, tables_in):
        assert _error(tmp_path / "r.json", {"schema": version}, read) == (
            f": schema is {version!r}, and this version reads {SCHEMA!r}: type the command again that made it."
        )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"colour": "red"}, ".colour: Extra inputs are not permitted."),
        ({"values": {"auc": {"value": "high"}}}, ".values.auc.value: Input should be a valid"),
        ({"values": {"auc": {"value": float("nan")}}}, ".values.auc.value: Input should be a finite"),
        # 3,798 + 40 + 12 = 3,850
        ({"scored": 3798}, ": Value error, judge[bold]_3|x%: scored 3798 + unscored 40 + excluded 12 is not total"),
    ],
)
def test_a_field_that_cannot_be_is_named(tmp_path, document, change, says):
    document["rows"][1] |= change
    assert _error(tmp_path / "r.json", document).startswith(f": field rows.1{says}")

"""The explorer's pictures in the docs are those that the page shows today."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="module")
def pictures():
    """The script that takes them."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    return runpy.run_path(str(ROOT / ".ci" / "screenshots.py"))


def test_a_picture_of_another_view_is_told_and_a_slightly_other_one_is_not(pictures, tmp_path):
    from PIL import Image

    kept = sorted((ROOT / "docs" / "images").glob("explorer-*.png"))
    assert {path.name for path in kept} == {f"explorer-{view}.png" for view in pictures["VIEWS"]}
    for number, one in enumerate(kept):
        # As another font would: letters a little elsewhere, and softer.
        picture = Image.open(one).convert("RGB")
        shifted = tmp_path / one.name
        picture.transform(picture.size, Image.Transform.AFFINE, (1, 0, 2, 0, 1, 2), Image.Resampling.BILINEAR).save(
            shifted
        )
        assert pictures["difference"](one, shifted) < pictures["MOST"]
        for other in kept[number + 1 :]:
            assert pictures["difference"](one, other) > pictures["MOST"], (one.name, other.name)


@pytest.mark.slow
def test_the_pictures_are_of_todays_page(pictures, monkeypatch):
    if shutil.which("chromium") is None:
        pytest.skip("Chromium is not installed")
    if not (DATA / "wice").is_dir():
        pytest.skip("the published files are not in ../shared/data")
    assert pictures["check"](str(DATA)) == 0

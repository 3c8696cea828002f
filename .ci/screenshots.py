# ruff: noqa: T201
"""Make the pictures of the explorer in docs/images, of WiCE and ExpertQA: `make screenshots data=FOLDER`.

With `--check` they are made elsewhere and held against those that are kept: both small and grey, so that another font
or a browser's next version moves little, and a view that is empty, or laid out anew, much.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1] / "docs" / "images"
# The offline metrics, which are the default; two backends.
JOBS = {
    "wice": "run -q -d wice --data {data}",
    "expertqa": "cite alce -q {data}/expertqa/rand_test.jsonl --nli overlap,support-mini",
}
VIEWS = {
    "overview": ("wice", "view=overview"),
    "pairs": ("wice", "view=pairs&preset=b-right&a=minilm-bertscore&b=support-mini&marks=overlap"),
    "pools": ("wice", "view=pools&a=minilm-bertscore&b=support-mini"),
    "answers": ("expertqa", "view=answers&preset=apart&a=support-mini"),
}


SMALL = (64, 40)
MOST = 8.0
"""Mean difference of two small pictures, of 255 shades, from which on a picture is another one."""


def take(data: str, pictures: Path) -> None:
    """Run both jobs, write their explorers, and take a picture of each view into a folder."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    pictures.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        metaeval: list[Any] = [sys.executable, "-m", "metaeval"]
        for name, job in JOBS.items():
            results = Path(folder) / name
            subprocess.run([*metaeval, *job.format(data=data).split(), "--results", results], check=True)
            subprocess.run([*metaeval, "view", "--results", results, "-o", f"{results}.html"], check=True)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for picture, (name, view) in VIEWS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(f"{Path(folder, name).as_uri()}.html#{view}")
            page.wait_for_selector("main > *")
            page.wait_for_timeout(1000)  # what is unpacked when first asked for
            page.screenshot(path=pictures / f"explorer-{picture}.png")
            print(pictures / f"explorer-{picture}.png")


def difference(one: Path, other: Path) -> float:
    """How far two pictures are apart, from 0 to 255: the mean over shades of small grey copies."""
    small = (Image.open(path).convert("L").resize(SMALL, Image.Resampling.BOX) for path in (one, other))
    return float(ImageStat.Stat(ImageChops.difference(*small)).mean[0])


def check(data: str) -> int:
    """Take the pictures anew; how many of them are other than those that are kept."""
    with tempfile.TemporaryDirectory() as folder:
        take(data, Path(folder))
        apart = {
            name: difference(DOCS / name, Path(folder, name)) for name in (f"explorer-{view}.png" for view in VIEWS)
        }
    for name, value in apart.items():
        print(f"{name}: {value:.1f} of 255{', at most ' + str(MOST) if value > MOST else ''}")
    return sum(value > MOST for value in apart.values())


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(check(sys.argv[1]))
    take(sys.argv[1], DOCS)

# ruff: noqa: T201
"""Make the pictures of the explorer in docs/images, of WiCE and ExpertQA: `make screenshots data=FOLDER`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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


def main(data: str) -> None:
    """Run both jobs, write their explorers, and take a picture of each view."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    DOCS.mkdir(exist_ok=True)
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
            page.screenshot(path=DOCS / f"explorer-{picture}.png")
            print(DOCS / f"explorer-{picture}.png")


if __name__ == "__main__":
    main(sys.argv[1])

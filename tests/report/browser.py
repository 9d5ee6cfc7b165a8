"""The system's Chromium, and what it says of a page.

No browser is downloaded: Debian's package is used. Where there is none, tests skip, but for those
that EXPUNGE_NEEDS_CHROMIUM obliges to run.
"""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
AXE = Path(__file__).parent / "axe" / "axe.min.js"
GRAVE = ("serious", "critical")
OUTSIDE = """() => {
  const width = document.documentElement.clientWidth, found = [];
  if (document.documentElement.scrollWidth > width) found.push("the page scrolls sideways");
  for (const one of document.querySelectorAll("body *")) {
    const box = one.getBoundingClientRect();
    if (!box.width || one.closest(".skip, thead, defs")) continue;
    if (!one.closest("svg") && (box.left < -0.5 || box.right > width + 0.5))
      found.push(`${one.tagName} reaches from ${box.left} to ${box.right}`);
    if (!one.closest("svg") && getComputedStyle(one).overflowX !== "visible"
        && one.scrollWidth > one.clientWidth + 1)
      found.push(`${one.tagName} cuts off what it holds`);
  }
  return found;
}"""
TEXTS = """() => [...document.querySelectorAll("svg")].flatMap(svg => {
  if (!svg.clientWidth) return [];
  const frame = svg.getBoundingClientRect(), found = [];
  const labels = [...svg.querySelectorAll("text")];
  const texts = labels.map(one => [one, one.getBoundingClientRect()]);
  texts.forEach(([one, box], place) => {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1
        || box.bottom > frame.bottom + 1) found.push(`${one.textContent}: leaves its figure`);
    const size = parseFloat(getComputedStyle(one).fontSize) * frame.width
                 / svg.viewBox.baseVal.width;
    if (size < LEAST) found.push(`${one.textContent}: ${size} pixels high`);
    for (const [other, their] of texts.slice(place + 1)) {
      const wide = Math.min(box.right, their.right) - Math.max(box.left, their.left);
      const high = Math.min(box.bottom, their.bottom) - Math.max(box.top, their.top);
      if (wide > 1.5 && high > 3.5)
        found.push(`${one.textContent} lies on ${other.textContent}`);
    }
  });
  return found;
})"""
LEAST = 8.0  # pixels of the smallest text of a figure


def chromium() -> str:
    """Where the browser is; the test skips, or fails where it must run, if there is none."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    if os.environ.get("EXPUNGE_NEEDS_CHROMIUM"):
        pytest.fail("no Chromium: apt-get install chromium")
    pytest.skip("no Chromium here: apt-get install chromium")


@contextmanager
def launched():
    """A browser that asks no network."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = chromium()
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def shown(browser, file: Path, *, width: int, scheme: str = "light", media: str = "screen"):
    """A page at this width, in light or dark, on a screen or on paper."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    page.emulate_media(media=media, color_scheme=scheme)
    page.goto(file.as_uri())
    try:
        yield page
    finally:
        context.close()


def faults(page) -> list[str]:
    """What overflows, is cut off, overlaps, or is too small to read."""
    return [*page.evaluate(OUTSIDE), *page.evaluate(TEXTS.replace("LEAST", str(LEAST)))]


def complaints(page) -> list[str]:
    """What axe-core calls serious or critical: contrast, names, structure."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run()")["violations"]
    return [
        f"{one['id']}: {node['html'][:120]}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]

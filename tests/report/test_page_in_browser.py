"""The report as people see it: on a telephone, a tablet and a desk, in the dark and on paper."""

import itertools

import numpy as np
import pytest

from expunge.report.page import page
from tests.report.browser import complaints, faults, launched, shown
from tests.report.claims import AUDIT, EVALUATIONS
from tests.report.test_page import certificate, document
from tests.report.test_trade_off_figure import curves

pytestmark = pytest.mark.slow
WIDTHS = (390, 768, 1280)
PAPER = 688  # pixels between the margins of A4
LONG = "a-name-that-nobody-broke-into-words-" * 4
REQUESTS = [
    {
        "number": number, "name": f"{LONG}{number}", "received": "2026-01-02T03:04:05+00:00",
        "records": 10**number, "state": state, "made": made,
    }
    for number, (state, made) in enumerate(
        [("honoured", "2026-01-02T03:05:05+00:00"), ("committed", None), ("pending", None)], 1
    )
]  # fmt: skip
MANY = {
    "name": "now", "on": f"rows of {LONG}.csv", "records": 4000, "accuracy": 0.025,
    "labels": [LONG] * 40, "confusion": np.full((40, 40), 2).tolist(),
}  # fmt: skip
TEN = {
    "name": "after", "on": "digits", "records": 50_000, "accuracy": 0.9,
    "labels": [f"{LONG}{label}" for label in range(10)],
    "confusion": (np.eye(10) * 4500 + 50).astype(int).tolist(),
}  # fmt: skip
SURE = {"value": 30.0, "interval": [20.0, 45.0]}
PAGES = {
    "full": document(
        audit=AUDIT, trade_offs=curves(), requests=REQUESTS[:1], operator="Example Ltd",
        model={"number": 2, "created": "2026-01-02T03:04:05+00:00"},
    ),
    "bare": document(certificate=None, strategies=[], evaluations=[], requests=[]),
    "hostile": document(
        title=LONG, data=LONG * 3, operator=LONG, requests=REQUESTS, names_published=True,
        evaluations=[*EVALUATIONS, TEN, MANY], trade_offs=curves("all"), retraining=LONG,
        audit=AUDIT | {"estimate": SURE, "verdict": f"cannot conclude: {LONG}"},
        certificate=certificate(
            model_sha256="ab" * 32, earlier_releases="not covered", declared=[LONG * 2]
        ),
        checked=LONG, commands=[f"expunge verify {LONG}"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with launched() as running:
        yield running


@pytest.fixture(scope="module", params=PAGES)
def file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page(PAGES[request.param]), encoding="utf-8")
    return path


def test_nothing_overflows_is_cut_off_overlaps_or_is_hard_to_read(browser, file):
    with shown(browser, file, width=390) as view:
        for width in WIDTHS:
            view.set_viewport_size({"width": width, "height": 900})
            assert not faults(view), width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_names_and_structure_are_as_axe_wants_them(browser, file, scheme):
    with shown(browser, file, width=390, scheme=scheme) as view:
        ground = view.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(245, 247, 249)", "dark": "rgb(16, 22, 28)"}[scheme]
        assert not complaints(view)
        view.set_viewport_size({"width": 1280, "height": 900})
        assert not complaints(view)


def test_paper_is_white_with_dark_ink_even_of_a_dark_screen(browser, file):
    with shown(browser, file, width=PAPER, scheme="dark", media="print") as view:
        assert not faults(view)
        assert not complaints(view)
        assert view.evaluate("getComputedStyle(document.body).color") == "rgb(29, 39, 51)"
        assert view.evaluate("getComputedStyle(document.body).backgroundColor").endswith(", 0)")
        assert view.pdf(format="A4").startswith(b"%PDF")


def test_a_screen_reader_finds_headings_in_order_figures_with_words_and_table_headers(
    browser, file
):
    with shown(browser, file, width=768) as view:
        levels = view.evaluate(
            "[...document.querySelectorAll('h1,h2,h3,h4')].map(one => +one.tagName[1])"
        )
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        unnamed = "svg:not([role=img][aria-label]), th:not([scope]), table:not(:has(caption))"
        assert view.locator(unnamed).count() == 0
        view.keyboard.press("Tab")
        assert view.evaluate("document.activeElement.getAttribute('href')") == "#main"
        assert view.evaluate("document.activeElement.getBoundingClientRect().left") >= 0


def test_one_of_two_drawings_is_shown_and_never_both(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page(PAGES["full"]), encoding="utf-8")
    for width in WIDTHS:
        with shown(browser, path, width=width) as view:
            seen = view.evaluate(
                "[...document.querySelectorAll('figure')].map(one =>"
                " [...one.querySelectorAll('svg')].filter(svg => svg.clientWidth).length)"
            )
            assert seen == [1] * 5


FAULTS = {
    "a wide table": "<table><tr><td style='white-space:nowrap'>" + "word " * 300,
    "text that is cut off": "<p style='overflow:hidden;white-space:nowrap'>" + "word " * 300,
    "a label outside of its figure": "<svg viewBox='0 0 100 20'><text x='90'>long label</text>",
    "labels on each other": "<svg viewBox='0 0 99 99'><text y='50'>one</text><text y='52'>two",
    "small print": "<svg viewBox='0 0 9999 99'><text y='50' font-size='9'>small</text></svg>",
}


@pytest.mark.parametrize("planted", FAULTS)
def test_a_planted_fault_of_the_layout_is_seen(browser, tmp_path, planted):
    path = tmp_path / "faulty.html"
    path.write_text(page(PAGES["bare"]).replace("</main>", f"{FAULTS[planted]}</main>"))
    with shown(browser, path, width=390) as view:
        assert faults(view)


def test_a_planted_fault_of_contrast_is_seen(browser, tmp_path):
    path = tmp_path / "faulty.html"
    faulty = page(PAGES["bare"]).replace("--soft: #566270", "--soft: #b0b8c0")
    path.write_text(faulty)
    with shown(browser, path, width=390) as view:
        assert any(one.startswith("color-contrast") for one in complaints(view))

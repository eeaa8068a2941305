"""The static site, built from lessons that were just executed, and read in a real browser from its folder."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import pytest

from course import steps
from course.steps import ROOT
from tests.conftest import MACHINE

pytestmark = pytest.mark.slow

LESSONS = "0-2"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a site in which some lessons have outputs, and the others have none."""
    folder = tmp_path_factory.mktemp("a site")
    for command in (
        ["scripts/run", "--steps", LESSONS, "--out", folder / "out"],
        ["scripts/site", "--from", folder / "out", "--out", folder / "site"],
    ):
        ended = subprocess.run(
            [ROOT / command[0], *command[1:]], cwd=folder, env=MACHINE, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    return folder / "site"


class Page(HTMLParser):
    """The links, pictures and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.pictures, self.anchors = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found.get("id"), found.get("name")}
        self.links += [found[name] for name in ("href", "src") if found.get(name)]
        if tag == "img":
            self.pictures.append(found)


def test_every_lesson_has_a_page_and_every_link_within_the_site_leads_somewhere(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert {site / "notebooks" / step.name / f"{step.name}.html" for step in steps.STEPS} <= set(pages)
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(link)
            if not re.match(r"\w+:", link):
                file = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
                known = pages[file].anchors if file in pages else {anchor}
                if not file.exists() or (anchor and unquote(anchor) not in known):
                    broken.append((path.name, link))
    assert broken == []


def test_every_picture_has_an_alternative_text(site):
    pictures = [(path.name, picture) for path in site.rglob("*.html") for picture in Page(path).pictures]
    assert len(pictures) > 5 and [(name, picture["src"]) for name, picture in pictures if not picture.get("alt")] == []


@pytest.fixture
def page(site):
    """A page of a browser, without a server; after the test, it has asked for nothing but files."""
    if not CHROMIUM:
        pytest.skip("no chromium here")
    playwright = pytest.importorskip("playwright.sync_api")
    asked, errors = [], []
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(color_scheme="light")
        opened.on("request", lambda request: asked.append(request.url))
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.goto((site / "index.html").as_uri())
        yield opened
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == [] and errors == []


def test_a_newcomer_finds_the_first_lesson_and_goes_on_to_the_next(page):
    page.get_by_role("link", name="Step 0").first.click()
    assert page.locator("h1").inner_text().startswith("Step 0")
    page.locator("a.next-page").click()
    assert page.locator("h1").inner_text().startswith("Step 1")


def test_search_finds_a_word(page):
    page.get_by_placeholder("Search").fill("broadcast")
    page.keyboard.press("Enter")
    page.locator("ul.search a", has_text="Start from the same weights").first.click()
    assert "broadcast" in page.locator("article").inner_text().lower()


def test_a_figure_is_opened_at_a_click_and_keeps_a_light_background_in_dark_mode(page, site):
    page.goto((site / "notebooks" / "step_00" / "step_00.html").as_uri())
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    while page.evaluate("document.body.dataset.theme") != "dark":
        page.locator(".theme-toggle:visible").first.click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    picture = page.locator(".cell_output img").first
    assert picture.evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
    picture.click()
    page.wait_for_url("**/_images/*.png")


@pytest.mark.parametrize("name", ["index.html", "notebooks/step_01/step_01.html", "docs/where-this-stands.html"])
def test_pages_fit_a_narrow_screen(page, site, name):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto((site / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_slides_show_figures_and_the_keyboard_turns_them(page, site):
    page.goto((site / "slides" / "index.html").as_uri())
    page.get_by_role("link", name="Part 1").click()
    seen = set()
    for _ in range(4):
        seen.add(page.locator("section.present:not(.stack)").inner_text())
        page.keyboard.press("Space")
    assert len(seen) == 4 and page.locator(".slides img").count() > 2

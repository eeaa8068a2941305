"""The calculator shows what course.scaling computes, for every position of its sliders, and loads nothing."""

import itertools
import json
import random
import re
import shutil

import pytest

from course import moving, scaling
from course.moving import costs
from course.scaling.models import MODELS
from course.scaling.prediction import Prediction

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

POSITIONS = list(itertools.product(MODELS, costs.GBITS, costs.SPEEDS, costs.GPUS))


def expected(model, gbits, speed, gpus, per_gpu_hour=2.0, watts=400.0):
    """What the page has to show, computed without the calculator's own code."""
    shown = Prediction(model, gpus, gbits * 1e9, images_per_second=speed * MODELS[model].images_per_second)
    hours = shown.hours
    return {
        "step": f"{shown.step * 1000:.0f} ms",
        "efficiency": f"{shown.efficiency * 100:.0f}%",
        "images per second": f"{shown.rate:,.0f}",
        "time to train": f"{hours:,.1f} hours" if hours >= 1 else f"{hours * 60:.0f} minutes",
        "price": f"${scaling.price(gpus, hours, per_gpu_hour):,.0f}",
        "energy": f"{scaling.energy_kwh(gpus, hours, watts):,.0f} kWh",
    }


def data(page):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', page.data, re.DOTALL)[1])


def test_its_table_has_every_position():
    rows = data(moving.calculator(per_gpu_hour=3, watts=700))["rows"]
    cells = [cell for model in rows for network in model for _, row in network for cell in row]
    assert len(cells) == len(POSITIONS)
    for position, cell in zip(POSITIONS, cells, strict=True):
        assert cell[3:] == list(expected(*position, per_gpu_hour=3, watts=700).values()), position


def test_it_loads_nothing_and_stays_small():
    page = moving.calculator().data
    assert not re.search(r"https?:|url\(|@import|src=|href=", page)
    assert len(page) < 150_000


@pytest.fixture
def page():
    """A page of a browser with the calculator alone; after the test, it has asked for nothing and raised no error."""
    if not CHROMIUM:
        pytest.skip("no chromium here")
    playwright = pytest.importorskip("playwright.sync_api")
    asked, errors = [], []
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 500, "height": 900})
        opened.on("request", lambda request: asked.append(request.url))
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.set_content(moving.calculator().data)
        yield opened
        browser.close()
    assert asked == [] and errors == []


def shown(page):
    names, values = (page.locator(f".moving {tag}").all_inner_texts() for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


@pytest.mark.slow
def test_every_position_shows_what_python_computes(page):
    set_all = """places => document.querySelectorAll(".moving input").forEach((slider, number) => {
        slider.value = places[number];
        slider.dispatchEvent(new Event("input"));
    })"""
    values = list(MODELS), costs.GBITS, costs.SPEEDS, costs.GPUS
    for position in random.Random(52).sample(POSITIONS, 80):
        page.evaluate(set_all, [own.index(value) for own, value in zip(values, position, strict=True)])
        assert shown(page) == expected(*position), position
        widths = page.locator("svg rect").evaluate_all("all => all.map(each => each.width.baseVal.value)")
        shares = [round(100 * width / sum(widths)) for width in widths]
        assert f"{shares[0]}%" == expected(*position)["efficiency"] and sum(widths) == pytest.approx(360)


@pytest.mark.slow
def test_it_is_moved_by_keyboard_and_by_mouse(page):
    assert shown(page) == expected("resnet50", 25, 1, 64)
    page.keyboard.press("Tab")  # to the model
    page.keyboard.press("End")
    assert shown(page) == expected("vgg16", 25, 1, 64)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert shown(page) == expected("vgg16", 10, 1, 64)
    gpus = page.get_by_label("GPUs:")
    box = gpus.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    assert shown(page) == expected("vgg16", 10, 1, 1024)
    assert gpus.get_attribute("aria-valuetext") == "1024"
    dot = page.locator("svg circle").evaluate("dot => [dot.cx.baseVal.value, dot.cy.baseVal.value]")
    line = page.locator("svg polyline").evaluate("line => [...line.points].map(point => [point.x, point.y])")
    assert dot == pytest.approx(line[-1])


@pytest.mark.slow
@pytest.mark.parametrize("figure", [moving.calculator, moving.ring])
def test_arrow_keys_belong_to_the_sliders_also_where_a_page_uses_them(page, figure):
    """JupyterLab listens to keys on the whole page, and prevents what they would do otherwise."""
    page.set_content(figure().data)
    page.evaluate("document.addEventListener('keydown', event => event.preventDefault())")
    slider = page.locator(".moving input").first
    slider.focus()
    before = slider.input_value()
    page.keyboard.press("ArrowLeft" if before != "0" else "ArrowRight")
    assert slider.input_value() != before


@pytest.mark.slow
def test_without_javascript_it_is_a_still_picture():
    if not CHROMIUM:
        pytest.skip("no chromium here")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        pages = [browser.new_context(java_script_enabled=enabled).new_page() for enabled in (True, False)]
        for each in pages:
            each.set_content(moving.calculator().data)
        texts = [each.locator(".moving dl, .moving svg, .moving-caption").all_text_contents() for each in pages]
        assert texts[0] == texts[1]
        assert pages[0].locator(".moving-controls").is_visible() and pages[1].locator(".moving-controls").is_hidden()
        browser.close()

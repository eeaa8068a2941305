"""Figures that move: their facts are those of the library and the solutions, and a browser shows them as promised."""

import ast
import itertools
import json
import math
import re
import shutil
from types import SimpleNamespace
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output

from course import moving, ring, steps
from course.internal.simulated_hosts import slot
from course.moving import epochs, scaling
from course.moving.flipbook import Frame, flip_book

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# The calculator is no flip-book: see test_calculator.py.
every_figure = pytest.mark.parametrize("name", [name for name in moving.__all__ if name != "calculator"])


@given(st.integers(1, 7), st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_all_ranks_of_a_ring_end_with_the_sum_and_send_what_the_formula_says(ranks, more, seed):
    tensors = list(np.random.default_rng(seed).integers(-100, 100, (ranks, ranks + more, 2)))
    total = sum(tensors)
    states = ring.allreduce(tensors)
    assert (sum(tensors) == total).all(), "the tensors stay as they are"
    for own in states[-1].chunks:
        assert (np.concatenate(own) == total).all()
    assert len(states) - 1 == 2 * (ranks - 1)
    sent = sum(message.content.size for state in states for message in state.messages)
    assert sent == 2 * (ranks - 1) * tensors[0].size, "that is 2(N-1)/N of the tensor for each of N ranks"
    for message in itertools.chain(*(state.messages for state in states)):
        assert message.receiver == (message.sender + 1) % ranks


def test_each_rank_of_a_ring_has_one_complete_sum_halfway():
    tensors = list(np.arange(20).reshape(4, 5))
    halfway = ring.allreduce(tensors)[3]
    for own in halfway.chunks:
        pairs = zip(own, np.array_split(sum(tensors), 4), strict=True)
        assert sum(bool((chunk == whole).all()) for chunk, whole in pairs) == 1


def test_steps_are_those_of_the_solution_of_step_5():
    (expression,) = (
        node.value
        for node in ast.walk(ast.parse(steps.get(5).solution.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "steps_per_epoch"
    )
    for batches, ranks in itertools.product(epochs.BATCHES, epochs.RANKS):
        names = {"train_iter": range(batches), "hvd": SimpleNamespace(size=lambda ranks=ranks: ranks)}
        solved = eval(ast.unparse(expression), names)
        down, up = epochs.rounded(batches, ranks)
        assert down == solved and 0 <= up * ranks - batches < ranks


def test_shares_are_those_of_the_solution_of_step_9():
    tree = ast.parse(steps.get(9).solution.read_text())
    (generator,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "share_of")
    for images, ranks, epoch in itertools.product(epochs.IMAGES, epochs.RANKS, (0, 1)):
        order = epochs.dealt(images, ranks, epoch)
        for rank in range(ranks):
            hvd = SimpleNamespace(rank=lambda rank=rank: rank, size=lambda ranks=ranks: ranks)
            names = {"np": np, "math": math, "hvd": hvd}
            exec(ast.unparse(generator), names)
            iterator = Iterator(images)
            next(names["share_of"](iterator, [epoch]))
            assert list(iterator.index_array) == list(order[rank::ranks])


class Iterator:
    """Stand-in for Keras' iterator: one batch of all its images."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return 1

    def __getitem__(self, batch):
        return batch


@pytest.mark.parametrize("share", scaling.SHARES)
def test_efficiency_falls_with_ranks_from_what_is_left_on_two(share):
    efficiency = [scaling.COMPUTE / scaling.step_seconds(share / 100, ranks) for ranks in (1, *scaling.RANKS)]
    assert efficiency[0] == 1 and efficiency[1] == pytest.approx(1 - share / 100)
    assert efficiency == sorted(efficiency, reverse=True)


def frames_of(name):
    """Return the pictures of a figure, as {(first value, second value): (SVG element, caption, label)}."""
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', getattr(moving, name)().data, re.S)
    data = json.loads(data)
    return {
        (first, second): (
            ElementTree.fromstring(f"<svg>{data['backgrounds'][background]}{drawing}</svg>"),
            caption,
            f"{caption} {described}",
        )
        for first, frames in data["rows"]
        for second, _, caption, described, background, drawing in frames
    }


def words(picture):
    return [element.text for element in picture.iter("text")]


@every_figure
def test_a_figure_is_small_and_needs_nothing_else(name):
    data = getattr(moving, name)().data
    assert len(data.encode()) < 64_000
    assert not re.search(r"\bid=|href|src=|url\(|https?:|@import", data), "and two of them share no name on a page"
    for picture, caption, label in frames_of(name).values():
        assert 20 < len(caption) <= 110 and label.startswith(caption)
        assert words(picture)


def test_the_processes_are_where_horovod_puts_them():
    frames = frames_of("who_is_who")
    assert len(frames) == 16
    for (hosts, slots), (picture, _, label) in frames.items():
        placed = [slot(rank, int(hosts), int(slots)) for rank in range(int(hosts) * int(slots))]
        shown = words(picture)
        for place in placed:
            assert shown[shown.index(f"rank {place.rank}") + 1] == f"local rank {place.local_rank}"
            assert f"Rank {place.rank}: host {place.cross_rank}, local rank {place.local_rank}." in label
        assert f"size {len(placed)} · local size {slots} · cross size {hosts}" in shown


def test_the_last_picture_of_a_ring_shows_the_sums_on_all_ranks():
    frames = frames_of("ring")
    assert [len([key for key in frames if key[0] == str(ranks)]) for ranks in range(2, 6)] == [3, 5, 7, 9]
    for ranks in range(2, 6):
        last = 2 * (ranks - 1)
        first, end = (words(frames[str(ranks), f"{sent} of {last}"][0]) for sent in (0, last))
        table = np.array([int(word) for word in first if word.isdecimal()]).reshape(ranks, ranks)
        shown = [int(word) for word in end if word.isdecimal()][: ranks**2]
        assert shown == list(table.sum(axis=0)) * ranks


def test_what_is_missing_or_used_again_adds_up():
    for (ranks, batches), (picture, _, _) in frames_of("epoch_steps").items():
        shown = " ".join(words(picture))
        left = int(batches) % int(ranks)
        assert (f"{left} missing" in shown) == (f"{int(ranks) - left} too many" in shown) == bool(left)
    for (ranks, images), (picture, _, label) in frames_of("shares").items():
        assert (words(picture).count("again") == 2) == bool(int(images) % int(ranks))
        first = re.findall(r"images ([\d ]+), then", label)
        assert len(first) == int(ranks) and len({len(share) for share in first}) == 1, "equal shares"
        assert set(" ".join(first).split()) == set(map(str, range(int(images))))


def test_data_with_the_end_of_a_script_does_not_end_it():
    frame = Frame("<text>a</text>", 10, "</script><i>", "'\"&")
    data = flip_book("<&", ("a", "b"), {(1, 1): frame}, (1, 1)).data
    assert data.count("</script>") == 2 and "<i>" not in data.split("<script")[0]


def test_the_pictures_of_a_lesson_are_made_by_a_cell_of_it():
    for number, name in {0: "who_is_who", 3: "ring", 5: "epoch_steps", 7: "speed_up", 9: "shares"}.items():
        lesson = nbformat.read(steps.get(number).notebook, as_version=4)
        assert [cell.source for cell in lesson.cells if "moving." in cell.source] == [f"moving.{name}()"]


def page_of(folder, *figures, theme="light"):
    """Write the page of a notebook with these figures, as scripts/run does, and return its address."""
    outputs = [new_output("execute_result", {"text/html": figure.data}, execution_count=1) for figure in figures]
    cells = [new_code_cell("figure", outputs=[output], execution_count=1) for output in outputs]
    path = folder / f"{theme}_{len(figures)}.html"
    path.write_text(HTMLExporter(theme=theme).from_notebook_node(new_notebook(cells=cells))[0], encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser):
    """A function that opens an address, and returns the page, its requests and the errors of its scripts."""

    def opener(address, **options):
        context = browser.new_context(**options)
        context.route(re.compile(r"^https?:"), lambda route: route.abort())
        page, requests, errors = context.new_page(), [], []
        page.on("request", lambda request: requests.append(request.url.partition("?")[0]))
        page.on("pageerror", lambda error: errors.append(error.message))
        page.goto(address)
        return page, requests, errors

    return opener


def in_a_browser(test):
    """Mark a test of the HTML page of a notebook, opened from a folder."""
    return pytest.mark.slow(pytest.mark.skipif(not CHROMIUM, reason="needs chromium: apt-get install chromium")(test))


@in_a_browser
def test_the_keyboard_moves_one_figure_and_no_other(tmp_path, opened):
    from playwright.sync_api import expect

    empty = page_of(tmp_path)
    _, others, _ = opened(empty)
    address = page_of(tmp_path, *(getattr(moving, name)() for name in moving.__all__), moving.ring())
    page, requests, errors = opened(address)
    assert set(requests) - {address} == set(others) - {empty}, "the figures load nothing"
    assert [error for error in errors if "require" not in error] == []

    rings = page.get_by_role("group", name="Ring allreduce, message by message")
    captions = page.locator(".moving-caption")
    before = captions.all_text_contents()
    sliders = rings.first.get_by_role("slider")
    sliders.nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(sliders.nth(1)).to_have_attribute("aria-valuetext", "2 of 6")
    expect(rings.first.locator(".moving-caption")).to_contain_text("Message 2 of 6")
    assert rings.first.get_by_role("img").get_attribute("aria-label").startswith("Message 2 of 6")
    after = captions.all_text_contents()
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1

    page.keyboard.press("End")
    sliders.nth(0).focus()
    page.keyboard.press("Home")  # two ranks send fewer messages: the last one is shown
    expect(sliders.nth(1)).to_have_attribute("aria-valuetext", "2 of 2")
    expect(rings.first.locator("svg").get_by_text("rank 2", exact=True)).to_have_count(0)


@in_a_browser
def test_play_moves_to_the_end_and_stops(tmp_path, opened):
    from playwright.sync_api import expect

    page, _, _ = opened(page_of(tmp_path, moving.ring()))
    page.get_by_role("slider").nth(0).press("Home")
    page.get_by_role("slider").nth(1).press("Home")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".moving-caption")).to_contain_text("Message 2 of 2", timeout=30_000)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


@in_a_browser
def test_a_reader_who_wants_no_motion_has_no_button_for_it(tmp_path, opened):
    page, _, _ = opened(page_of(tmp_path, moving.ring()), reduced_motion="reduce")
    assert page.get_by_role("slider").count() == 2 and not page.get_by_role("button", name="Play").count()


@in_a_browser
def test_without_javascript_there_is_a_still_picture(tmp_path, opened):
    page, _, _ = opened(page_of(tmp_path, moving.who_is_who()), java_script_enabled=False)
    assert page.locator("svg[role=img]").bounding_box()["height"] > 100
    assert page.locator(".moving-controls").is_hidden()
    assert page.locator(".moving").inner_text().count("local rank 0") >= 2


@in_a_browser
@pytest.mark.parametrize("width", [400, 1440])
def test_nothing_reaches_beyond_the_page_or_the_picture(tmp_path, opened, width):
    figures = [getattr(moving, name)() for name in moving.__all__]
    page, _, _ = opened(page_of(tmp_path, *figures), viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []


# Show every picture, and return the texts and boxes that are not within it, or texts that are too small to read.
OUTSIDE = """() => [...document.querySelectorAll(".moving")].flatMap(figure => {
  const [outer, inner] = figure.querySelectorAll("input"), found = [];
  const set = (slider, value) => { slider.value = value; slider.dispatchEvent(new Event("input")); };
  for (let first = 0; first <= outer.max; first++) {
    set(outer, first);
    for (let second = 0; second <= inner.max; second++) {
      set(inner, second);
      const svg = figure.querySelector("svg"), whole = svg.getBoundingClientRect();
      for (const part of svg.querySelectorAll("text, path, circle")) {
        const box = part.getBoundingClientRect(), margin = 2;
        if (box.left < whole.left - margin || box.right > whole.right + margin
          || box.top < whole.top - margin || box.bottom > whole.bottom + margin
          || (part.tagName === "text" && box.height < 9))
          found.push(`${figure.ariaLabel} ${first} ${second}: ${part.textContent || part.getAttribute("d")}`);
      }
    }
  }
  return found;
})"""

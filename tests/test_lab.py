"""A lesson in a real browser: JupyterLab opens it, runs a cell, and shows its result."""

import contextlib
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from course.steps import ROOT, get

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TRIES = 6  # to run a cell


@pytest.fixture
def address(tmp_path, request):
    """The address of a JupyterLab on a copy of the course, started as scripts/lab does, with more options if given."""
    checkout = tmp_path / "a copy"
    tracked = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True)
    for name in tracked.splitlines():
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@localhost"]
    for command in (["init", "--quiet"], ["add", "--all"], [*identity, "commit", "--quiet", "--message=the course"]):
        subprocess.run(["git", *command], cwd=checkout, check=True)
    (checkout / ".venv").symlink_to(ROOT / ".venv")
    (checkout / ".git" / "info" / "exclude").write_text(".venv\n")
    subprocess.run(["scripts/setup"], cwd=checkout, check=True)
    if "--instructor" in getattr(request, "param", []):
        (tmp_path / ".jupyter").mkdir()
        (tmp_path / "exchange").mkdir(mode=0o777)
        (tmp_path / ".jupyter" / "nbgrader_config.py").write_text(f"c.Exchange.root = '{tmp_path}/exchange'\n")
    options = ["--no-browser", "--ip=127.0.0.1", "--port=0", "--allow-root", "--IdentityProvider.token=a-token"]
    log = (tmp_path / "lab.log").open("w+")
    server = subprocess.Popen(
        [ROOT / ".venv" / "bin" / "python", "-m", "course", "lab", *getattr(request, "param", []), *options],
        cwd=checkout,
        env={
            "PATH": f"{ROOT / '.venv' / 'bin'}:/usr/bin:/bin",
            "PYTHONPATH": str(checkout),
            "HOME": str(tmp_path),
            "JUPYTER_CONFIG_PATH": str(checkout / "grader"),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in server.stderr:
        log.write(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            break
    else:
        pytest.fail(Path(log.name).read_text())
    yield f"{found[0]}/lab", checkout
    server.terminate()
    server.stderr.read()
    server.wait(30)


def wait_until(holds, seconds=60):
    """Wait until a condition holds that another process brings about."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def run(page, cell):
    """Run a cell that has not run yet, as a person does: where JupyterLab was still at work, press the keys again."""
    from playwright.sync_api import expect

    for _ in range(TRIES):
        cell.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        with contextlib.suppress(AssertionError):
            expect(cell.locator(".jp-InputPrompt")).not_to_have_text("[ ]:", timeout=10_000)
            return
    pytest.fail(f"The cell did not begin to run, however often its keys were pressed ({TRIES} times).")


@pytest.mark.skipif(not CHROMIUM, reason="needs chromium: apt-get install chromium")
def test_a_learner_opens_a_lesson_and_runs_a_cell(address):
    from playwright.sync_api import expect, sync_playwright

    url, checkout = address
    assert (checkout / "notebooks" / "step_03" / "fashion_mnist.py").is_file(), "the starter is put in place"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{url.removesuffix('/lab')}/?token=a-token")
        expect(page.get_by_role("heading", name="Distributed training, step by step")).to_be_visible(timeout=60_000)
        link = page.get_by_role("link", name="Average the gradients")  # in the map, before any cell is run
        assert "step_03/step_03.ipynb" in link.get_attribute("href")
        assert listed(page, url) == {
            "LICENSE",
            "README.md",
            "assignments",
            "data",
            "docs",
            "hunt",
            "notebooks",
            "solutions",
        }
        page.goto(f"{url}/tree/notebooks/step_03/step_03.ipynb?token=a-token&reset")
        expect(page.get_by_role("heading", name="Step 3: Average the gradients")).to_be_visible(timeout=60_000)
        notebook = page.locator(".jp-Notebook:visible")
        kernel = page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator")
        expect(kernel).to_have_attribute("data-status", "idle", timeout=60_000)
        set_up(page)
        cell = notebook.locator(".jp-CodeCell", has_text="figures.allreduce").first
        run(page, cell)
        expect(cell.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"), timeout=60_000)
        expect(notebook.get_by_role("link", name="fashion_mnist.py", exact=True).first).to_be_visible(timeout=60_000)
        figure = cell.locator(".jp-OutputArea-output img")
        expect(figure).to_be_visible(timeout=30_000)
        assert figure.evaluate("image => image.naturalWidth") > 300
        cell = notebook.locator(".jp-CodeCell", has_text="check(step=3").first
        run(page, cell)
        waiting = cell.get_by_text("your script is running (")
        expect(waiting).to_be_visible(timeout=60_000)
        expect(cell.get_by_text("Each rank applies its own gradient")).to_be_visible(timeout=180_000)
        expect(waiting).to_have_count(0)
        expect(cell.get_by_text("Not yet: 20 of 30 points")).to_be_visible()
        page.keyboard.press("Control+s")
        lesson = checkout / "notebooks" / "step_03" / "step_03.ipynb"
        wait_until(lambda: "Not yet: 20 of 30 points" in lesson.read_text())
        wait_until(lambda: subprocess.run(["git", "diff-files", "--quiet"], cwd=checkout).returncode == 0)
        assert subprocess.check_output(["git", "diff", "HEAD"], cwd=checkout) == b"", "outputs are no change for git"

        run(page, cell)  # and a restart of the kernel, while the script runs
        expect(waiting).to_be_visible(timeout=60_000)
        page.keyboard.press("Escape")
        page.keyboard.press("0")
        page.keyboard.press("0")
        page.locator(".jp-Dialog button", has_text="Restart").click()
        expect(waiting).not_to_be_visible(timeout=30_000)
        expect(cell.locator(".jp-InputPrompt")).to_have_text("[ ]:", timeout=60_000)
        expect(kernel).to_have_attribute("data-status", "idle", timeout=60_000)
        set_up(page)
        run(page, notebook.locator(".jp-CodeCell", has_text="check(step=3").first)
        expect(cell.get_by_text("Each rank applies its own gradient")).to_be_visible(timeout=180_000)

        expect(page.locator('.lm-MenuBar-itemLabel:text("Nbgrader")')).to_have_count(0)  # there is no class here
        expect(page.get_by_text("Jupyter news")).to_have_count(0)  # nothing asks but the lesson
        page.screenshot(path=checkout.parent / "lesson.png")
        browser.close()


def listed(page, url):
    """Return the names of what the file browser shows of the course's folder."""
    contents = page.request.get(f"{url.removesuffix('/lab')}/api/contents/?token=a-token").json()["content"]
    return {each["name"] for each in contents}


def set_up(page):
    """Run the first three cells of the lesson, two of which are folded, without unfolding them; see run()."""
    from playwright.sync_api import expect

    for _ in range(TRIES):
        page.get_by_role("heading", name="Step 3: Average the gradients").click()
        for _ in range(3):
            page.keyboard.press("Shift+Enter")
        with contextlib.suppress(AssertionError):
            expect(page.locator(".jp-Notebook:visible .jp-mod-active")).to_contain_text("The idea", timeout=10_000)
            shown = page.locator(".jp-Notebook:visible").get_by_role("link", name="fashion_mnist.py", exact=True).first
            expect(shown).to_be_visible(timeout=30_000)  # in what the last one shows
            return
    pytest.fail(f"The first cells did not run, however often their keys were pressed ({TRIES} times).")


def open_page(page, url, name):
    """Open one of nbgrader's pages from JupyterLab's menu."""
    page.goto(f"{url}?token=a-token&reset")
    page.locator(".lm-TabBar-tab", has_text="Launcher").wait_for()  # once the layout is restored, nothing closes a page
    page.locator('.lm-MenuBar-itemLabel:text("Nbgrader")').click(timeout=60_000)
    page.locator(f'#jp-mainmenu-nbgrader li[data-command="nbgrader:open-{name}"]').click()


@pytest.mark.skipif(not CHROMIUM, reason="needs chromium: apt-get install chromium")
@pytest.mark.parametrize("address", [["--instructor"]], indirect=True)
def test_an_assignment_goes_from_the_instructor_to_a_learner_and_back(address):
    from playwright.sync_api import expect, sync_playwright

    url, checkout = address
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(60_000)
        expect.set_options(timeout=120_000)
        slow = {"timeout": 300_000}

        assert {"grader", "tests", "notebooks"} <= listed(page, url)
        open_page(page, url, "formgrader")
        formgrader = page.frame_locator("iframe").first
        row = formgrader.locator("tr", has=formgrader.get_by_text("step_01", exact=True))
        row.locator(".assign a").click()
        formgrader.get_by_role("button", name="Close").click()
        row.locator(".release a").click()
        formgrader.get_by_role("button", name="Close").click()

        open_page(page, url, "assignment-list")
        released = page.locator("#released_assignments_list .list_item", has_text="step_01")
        released.get_by_role("button", name="Fetch").click()
        fetched = page.locator("#fetched_assignments_list")
        fetched.get_by_role("button", name="Submit").wait_for()
        desk = checkout / "assignments" / "step_01"
        open_page(page, url, "assignment-list")  # anew: what was fetched folds itself up once the list is complete
        fetched.locator('a:text("step_01")').first.click()
        fetched.get_by_role("button", name="Validate").click()
        expect(page.locator(".nbgrader-ErrorDialog")).to_contain_text("never initialises Horovod", **slow)
        page.screenshot(path=checkout.parent / "validate.png")
        page.locator(".nbgrader-ErrorDialog button").last.click()
        (desk / "fashion_mnist.py").write_text(get(1).solution.read_text())
        fetched.get_by_role("button", name="Submit").click()
        expect(page.locator("#submitted_assignments_list")).to_contain_text("step_01")

        open_page(page, url, "formgrader")
        row.locator(".collect a").click()
        formgrader.get_by_role("button", name="Close").click()
        row.locator(".num-submissions a").click()
        formgrader.locator(".autograde a").click()
        expect(formgrader.get_by_text("Successfully autograded")).to_be_visible(**slow)
        formgrader.get_by_role("button", name="Close").click()
        expect(formgrader.locator(".score")).to_contain_text("10 / 12")
        formgrader.locator(".name a, .student-name a").first.click()
        formgrader.locator("td a", has_text="step_01").first.click()
        expect(formgrader.get_by_text("Passed: 10 of 10 points")).to_be_visible()
        page.screenshot(path=checkout.parent / "formgrader.png")
        browser.close()

"""The site's command line: python -m website, which scripts/site calls."""

import shutil
import sys
import tempfile
from pathlib import Path

import click
from sphinx.cmd.build import main as sphinx_build

from website import pages, slides

CONFIGURATION = Path(__file__).parent


@click.command()
@click.option(
    "--from",
    "executed",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path("out"),
    show_default=True,
    help="What scripts/run wrote: lessons that are missing there are shown without outputs.",
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("site"), show_default=True)
def main(executed: Path, out: Path) -> None:
    """Build the site, and slides of each part. Open index.html in --out: the pages need no server."""
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="course-site-") as tree:
        missing = pages.put_together(executed, Path(tree))
        _build("html", tree, out)
    with tempfile.TemporaryDirectory(prefix="course-slides-") as tree:
        slides.put_together(executed, Path(tree))
        _build("revealjs", tree, out / "slides")
    if missing:
        names = ", ".join(step.short_label for step in missing)
        click.echo(f"Without outputs, as {executed} has no run of them: {names}")
    click.echo(f"Open {out / 'index.html'}")


def _build(kind: str, tree: str, out: Path) -> None:
    """Let Sphinx build pages of a kind. A warning is a broken link, a page that nothing leads to, or the like."""
    options = ["--quiet", "--fail-on-warning", "--keep-going", "--builder", kind, "--conf-dir", str(CONFIGURATION)]
    if sphinx_build([*options, "--doctree-dir", f"{tree}/.doctrees", tree, str(out)]):
        sys.exit("The site was not built: see the warnings above.")


if __name__ == "__main__":
    main()

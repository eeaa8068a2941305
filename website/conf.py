"""Sphinx's configuration of the site. All that a page needs is in the site's folder: nothing comes from elsewhere."""

import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

HERE = Path(__file__).parent

project = "From one process to many"
version = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
copyright = "the course's authors, Apache License 2.0"
extensions = ["myst_nb", "sphinx_revealjs"]
exclude_patterns = ["solutions", ".doctrees"]

nb_execution_mode = "off"  # scripts/run has executed them
nb_merge_streams = True
nb_mime_priority_overrides = [("revealjs", kind, order) for order, kind in enumerate(("text/html", "image/png"))]
suppress_warnings = ["mystnb.unknown_mime_type"]  # what lessons note for themselves
myst_heading_anchors = 4  # links to headings work as they do on platforms for code

html_theme = "furo"
html_title = project
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_show_sourcelink = html_copy_source = False
html_show_search_summary = False  # it fetches the pages that were found, which a browser refuses for files

revealjs_style_theme = "white"
revealjs_static_path = [str(HERE / "static")]
revealjs_css_files = ["slides.css"]
revealjs_script_conf = {"hash": True, "slideNumber": True, "transition": "none"}


def _open_at_a_click(app: Sphinx, page: nodes.document, name: str) -> None:
    """Let each picture lead to its file, which a browser shows in full size."""
    up = "../" * name.count("/")
    for picture in list(page.findall(nodes.image)):
        file = app.env.images[picture["uri"]][1]
        link = nodes.reference("", "", refuri=f"{up}_images/{file}")
        picture.replace_self(link)
        link += picture


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("doctree-resolved", _open_at_a_click)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Configuration of Sphinx for the manual. `make docs` copies this file next to the generated pages."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

project = "navlin"
author = "the authors of navlin"
copyright = f"{datetime.now(UTC).year}, {author}"
release = "MANUAL_VERSION"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"navlin {release}"
html_favicon = "icon.svg"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_domain_indices = False
html_use_index = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4


def without_style_attributes(app: Any, error: Exception | None) -> None:
    """Remove inline styles in attributes. navlin serves the pages with a policy that refuses them; `manual.css` has what
    they are needed for."""
    if error is None:
        for page in Path(app.outdir).rglob("*.html"):
            page.write_text(re.sub(r' style="[^"]*"', "", page.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("build-finished", without_style_attributes)

"""What MkDocs calls while it builds the site: pages that the package itself tells or draws are made then, and never committed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tools.site import gallery, reference


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference and the gallery to what `docs` holds."""
    pages = {**reference.reference_pages(), reference.TABLES_PAGE: reference.tables_page()}
    for name, text in pages.items():
        files.append(File.generated(config, f"api/{name}", content=text))
    with tempfile.TemporaryDirectory() as folder:
        for page in gallery.write_pages(Path(folder)):
            files.append(File.generated(config, f"gallery/{page.name}", content=page.read_bytes()))
    return files

"""Directories behind URLs: of a web server of this machine, and in fsspec's memory."""

from __future__ import annotations

import http.server
from pathlib import Path

import fsspec


class Served:
    """A directory and the URL that it is reached at."""

    def __init__(self, url: str, directory: Path | None = None) -> None:
        self.url = url
        self._directory = directory
        self._memory = fsspec.filesystem("memory")

    def put(self, name: str, content: bytes) -> str:
        """Write a file; returns its URL."""
        if self._directory is None:
            self._memory.pipe_file(f"{self.url}/{name}", content)
        else:
            file = self._directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return f"{self.url}/{name}"

    def remove(self) -> None:
        """Take everything away."""
        if self._directory is None:
            self._memory.rm(self.url, recursive=True)
        else:
            for file in sorted(self._directory.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()


class Handler(http.server.SimpleHTTPRequestHandler):
    """A web server of files that keeps quiet, asks for a password below `locked`, and breaks off below `cut`."""

    asked: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if "/locked/" in self.path and "Authorization" not in self.headers:
            self.send_error(401)
        elif "/broken/" in self.path:
            self.send_error(500)
        elif self.path.endswith(".cut"):
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"x" * 10)
            self.close_connection = True
        else:
            super().do_GET()


class Server(http.server.ThreadingHTTPServer):
    """Keeps quiet of those who hang up early."""

    def handle_error(self, *_: object) -> None:
        pass

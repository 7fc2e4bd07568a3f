"""Workflows, forms and policies: they are well-formed, name what is there, and say what is so."""

from __future__ import annotations

import gzip
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.nightly.matrix.rows import ROWS

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: path for path in (GITHUB / "workflows").glob("*.yml")}
FORMS = sorted(path.name for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
TEXTS = [path for path in (*GITHUB.rglob("*"), ROOT / "SECURITY.md", ROOT / "CITATION.cff") if path.is_file()]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(workflow: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = parsed(WORKFLOWS[workflow])["jobs"]
    return found


def steps(workflow: str) -> Iterator[dict[str, Any]]:
    for job in jobs(workflow).values():
        yield from job.get("steps", ())


def triggers(workflow: str) -> dict[str, Any]:
    found: dict[str, Any] = parsed(WORKFLOWS[workflow])[True]  # YAML 1.1 takes `on` for a truth value
    return found


def test_there_is_a_workflow_for_each_purpose() -> None:
    assert WORKFLOWS.keys() == {"check", "test", "matrix", "docs", "release"}
    assert triggers("check") == {"push": None, "pull_request": None}
    assert triggers("release") == {"push": {"tags": ["v*"]}}
    assert "schedule" in triggers("matrix")


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_calls_targets_that_exist_and_pins_its_actions(workflow: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    commands = " ".join(step["run"] for step in steps(workflow) if "run" in step)
    called = set(re.findall(r"\bmake ([a-z-]+)", commands))
    assert called <= targets
    assert called or workflow == "release"
    actions = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert actions
    assert [action for action in actions if not re.fullmatch(r"[\w./-]+@(v\d+|release/v\d+)", action)] == []
    for name, job in jobs(workflow).items():
        assert "uses" in job or {"runs-on", "timeout-minutes", "steps"} <= job.keys(), name
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= jobs(workflow).keys()
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step), step


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_no_workflow_may_write_more_than_it_needs_or_runs_text_of_others(workflow: str) -> None:
    assert parsed(WORKFLOWS[workflow])["permissions"] == {"contents": "read"}
    more = {name: job["permissions"] for name, job in jobs(workflow).items() if "permissions" in job}
    allowed = {
        "docs": {"publish": {"pages": "write", "id-token": "write"}},
        "release": {"publish": {"id-token": "write"}, "announce": {"contents": "write"}},
    }
    assert more == allowed.get(workflow, {})
    text = WORKFLOWS[workflow].read_text(encoding="utf-8")
    assert "pull_request_target" not in text
    assert "github.event" not in text
    assert "secrets." not in text


def test_the_workflows_run_the_versions_that_are_promised() -> None:
    assert jobs("matrix")["row"]["strategy"]["matrix"]["row"] == list(ROWS)
    classified = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    assert jobs("test")["test"]["strategy"]["matrix"]["python"] == classified


def test_only_tested_archives_are_published_by_trust_and_not_by_a_token() -> None:
    release = jobs("release")
    assert release["test"]["uses"] == f"./.github/workflows/{WORKFLOWS['test'].name}"
    assert "workflow_call" in triggers("test")
    assert release["publish"]["needs"] == ["test", "build"]
    (publish,) = (one for one in release["publish"]["steps"] if "pypi-publish" in one["uses"])
    assert "with" not in publish


@pytest.mark.parametrize("form", FORMS)
def test_an_issue_form_asks_for_what_doctor_tells(form: str) -> None:
    told = parsed(GITHUB / "ISSUE_TEMPLATE" / form)
    assert {"name", "description", "body"} <= told.keys()
    parts = {part["id"]: part for part in told["body"] if part["type"] != "markdown"}
    assert len(parts) == len([part for part in told["body"] if part["type"] != "markdown"])
    assert all(part["attributes"]["label"] for part in parts.values())
    (code,) = re.findall(r"`(import .*)`", parts["doctor"]["attributes"]["description"])
    assert "tfprof.doctor()" in code
    compile(code, form, "exec")
    if form == "bug.yml":
        assert parts["doctor"]["validations"]["required"] is True


def test_every_package_manager_is_watched() -> None:
    updates = parsed(GITHUB / "dependabot.yml")["updates"]
    folders = {one["package-ecosystem"]: one["directory"] for one in updates}
    assert folders == {"github-actions": "/", "npm": "/js", "pip": "/"}
    assert (ROOT / "js" / "package-lock.json").exists()


def test_the_citation_names_the_package_as_its_metadata_do() -> None:
    citation = parsed(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors", "type"} <= citation.keys()
    assert f'name = "{citation["authors"][0]["name"]}"' in PYPROJECT
    assert citation["license"] in PYPROJECT


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_texts_name_no_address_and_no_person(path: Path) -> None:
    assert not re.search(r"https?://|@(?!v\d|release/)\w+\.\w+", path.read_text(encoding="utf-8"))


def test_no_text_or_code_sends_anyone_to_what_is_not_published() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kinds = {".md", ".py", ".ts", ".ipynb", ".toml", ".yml", ".cff", ".txt", ""}
    skipped = ("tests/", "js/package-lock.json", "CHANGELOG.md")
    texts = [
        ROOT / name for name in tracked.splitlines() if not name.startswith(skipped) and Path(name).suffix in kinds
    ]
    assert ROOT / "README.md" in texts
    unpublished = r"(?:github\.com|github\.io|pypi\.org|mybinder\.org|colab\.research)\S*tfprof|tfprof-widgets\.github"
    install = r"pip install[^\n`]*\btfprof[-_]widgets(?!\S*\.whl)"
    for path in texts:
        found = re.search(f"{unpublished}|{install}", path.read_text(encoding="utf-8"))
        assert not found, (path, found)


def test_what_the_security_policy_says_of_ports_and_of_what_is_shared(tmp_path: Path) -> None:
    parameters = inspect.signature(tfprof.serve).parameters
    assert (parameters["host"].default, parameters["token"].default) == ("127.0.0.1", None)
    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    line = prof.source_lines["code"][0].strip()
    prof.save(tmp_path / "saved")
    (sources,) = (tmp_path / "saved").rglob("tfprof.sources.json.gz")
    prof.to_chrome_trace(tmp_path / "trace.json.gz")
    texts = [gzip.decompress(path.read_bytes()).decode() for path in (sources, tmp_path / "trace.json.gz")]
    assert (line, [line in text for text in texts]) == ("x = dense(x)", [True, False])


def test_the_published_site_is_the_one_that_is_built() -> None:
    (built,) = re.findall(r"^site_dir: (.+)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    (upload,) = (step for step in steps("docs") if "upload-pages" in step.get("uses", ""))
    assert upload["with"]["path"] == built

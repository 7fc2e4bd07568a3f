"""Traces in directories and behind URLs: of this machine, in fsspec's memory and of a real local web server."""

from __future__ import annotations

import gc
import gzip
import json
import os
import pickle
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.builders import EPOCH_NS, event, line, plane, session, space
from tests.unit.opening.served import Served
from tfprof_widgets.errors import EmptyTraceError, TraceError
from tfprof_widgets.read import (
    SIDECAR,
    UrlPath,
    failure,
    find,
    first_bytes,
    open_traces,
    place_of,
    places,
    shown_url,
    without_secrets,
)

RUN = "plugins/profile/2026_11_20_11_00_00"


def trace(name: str = "op", *, host: str = "", start_us: float = 0) -> bytes:
    """The file of a trace of one event."""
    return space(
        session(start_ns=EPOCH_NS + round(start_us * 1000)),
        plane("/host:CPU", line("main", event(name, 1, 1))),
        hostnames=[host] if host else [],
    )


def names(url: str) -> list[str]:
    """The names of the events behind a URL, in order."""
    opened = open_traces(url)
    return [opened.trace.strings[name] for name in opened.trace.name_id]


def sidecar(variable: str) -> bytes:
    """A source map that knows one variable."""
    columns = {"name": variable, "shape": "1", "dtype": "float32", "trainable": True, "layer": "", "device": ""}
    table = {name: [value] for name, value in columns.items()}
    return gzip.compress(json.dumps({"version": 1, "recorder": variable, "variables": table}).encode())


def test_a_file_is_opened_whatever_it_is_called(place: Served) -> None:
    for name, content in (("a.xplane.pb", trace()), ("b.xplane.pb.gz", gzip.compress(trace())), ("renamed", trace())):
        url = place.put(f"dir/{name}", content)
        assert names(url) == ["op"]
        assert tfprof.load(url).title == "dir"
    assert open_traces(f"{place.url}/dir/a.xplane.pb").trace.planes[0].host == "a"


def test_a_run_directory_merges_its_hosts(place: Served) -> None:
    place.put("run/b.xplane.pb", trace("second", start_us=50))
    place.put("run/a.xplane.pb", trace("first"))
    place.put("run/ALL_HOSTS.op_stats_v2.pb", b"a cache of XProf")
    for url in (f"{place.url}/run", f"{place.url}/run/"):
        opened = open_traces(url)
        assert [path.name for path in opened.paths] == ["a.xplane.pb", "b.xplane.pb"]
        assert {plane.host for plane in opened.trace.planes} == {"a", "b"}
        assert names(url) == ["first", "second"]
        assert opened.others == ()


def test_the_newest_run_of_a_logdir_is_found_and_no_other_is_fetched(web: Served) -> None:
    web.put(f"{RUN}/h.xplane.pb", trace("newest"))
    web.put("plugins/profile/2025_01_01_00_00_00/h.xplane.pb", trace("oldest"))
    web.put("events.out.tfevents.1", b"\0" * 10_000)
    web.put("checkpoint.bin", b"\0" * 10_000)
    prof = tfprof.load(web.url)
    assert list(prof.events["name"]) == ["newest"]
    assert prof.title == "2026_11_20_11_00_00"
    assert any("newest of 2 runs. The others are 2025_01_01_00_00_00" in notice for notice in prof.notices)
    fetched = {path.rpartition("/")[2] for path in web.asked if "2025" in path}
    assert fetched == {""}, "of the other run only the listing"


def test_a_glob_merges_what_it_matches(place: Served) -> None:
    place.put("r1/h.xplane.pb", trace("one", host="h"))
    place.put("r2/h.xplane.pb", trace("two", host="h", start_us=10))
    place.put("s/h.xplane.pb", trace("three", host="h", start_us=20))
    assert names(f"{place.url}/r*/*.xplane.pb") == ["one", "two"]
    merged = open_traces(f"{place.url}/*/h.xplane.pb").trace
    assert (merged.n_events, len(merged.sessions), len(merged.lines)) == (3, 3, 1)
    with pytest.raises(TraceError, match="it matches nothing"):
        open_traces(f"{place.url}/none*/*.pb")


def test_source_maps_beside_the_traces_come_along(served: Served) -> None:
    served.put("run/a.xplane.pb", trace("first"))
    served.put("run/b.xplane.pb", trace("second"))
    served.put(f"run/{SIDECAR}", sidecar("of_the_run"))
    served.put(f"run/b.{SIDECAR}", sidecar("of_b"))
    found = open_traces(f"{served.url}/run").source_map.variables["name"]
    assert set(found) == {"of_the_run", "of_b"}
    assert set(open_traces(f"{served.url}/run/a.xplane.pb").source_map.variables["name"]) == {"of_the_run", "of_b"}


def test_a_chrome_trace_and_a_saved_profile_are_read_from_urls(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "h.xplane.pb"
    file.write_bytes(trace("kept"))
    prof = tfprof.load(file)
    chrome = prof.to_chrome_trace(tmp_path / "trace.json.gz")
    assert list(tfprof.load(served.put("t/trace.json.gz", chrome.read_bytes())).events["name"]) == ["kept"]
    saved = prof.save(tmp_path / "saved")
    for part in saved.rglob("*"):
        if part.is_file():
            served.put(f"saved/{part.relative_to(saved).as_posix()}", part.read_bytes())
    again = tfprof.load(f"{served.url}/saved")
    assert again.title == prof.title
    assert list(again.events["name"]) == ["kept"]


def test_a_profile_from_a_url_can_be_saved_when_the_url_is_gone(served: Served, tmp_path: Path) -> None:
    prof = tfprof.load(served.put("run/h.xplane.pb", trace("kept")))
    served.remove()
    assert list(tfprof.load(prof.save(tmp_path / "copy")).events["name"]) == ["kept"]


def test_a_name_with_blanks_and_signs_is_found_in_a_listing(served: Served) -> None:
    served.put("my run/worker 1%.xplane.pb", trace())
    url = f"{served.url}/my%20run" if served.url.startswith("http") else f"{served.url}/my run"
    assert [path.name for path in open_traces(url).paths] == ["worker 1%.xplane.pb"]


def test_where_nothing_is_it_is_told_with_what_is_there(place: Served) -> None:
    place.put("logs/other.txt", b"text")
    with pytest.raises(TraceError, match=r"Nothing is at .*/logs/run\. .*other\.txt"):
        tfprof.load(f"{place.url}/logs/run")
    with pytest.raises(EmptyTraceError, match=r"/logs holds no trace: .* It holds other\.txt\."):
        tfprof.load(f"{place.url}/logs")
    with pytest.raises(TraceError, match="Nothing is at"):
        tfprof.load(f"{place.url}/no/such/file.pb")


def test_a_server_that_does_not_answer_is_told_with_the_cause() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/run"
        with pytest.raises(TraceError, match=rf"{url} cannot be read: Client\w+: .*[Cc]onnect"):
            tfprof.load(url)


def test_a_server_that_refuses_is_told_with_its_status(web: Served) -> None:
    web.put("locked/run/h.xplane.pb", trace())
    web.put("broken/run/h.xplane.pb", trace())
    with pytest.raises(TraceError, match=r"locked/run/h\.xplane\.pb cannot be read: .*401"):
        tfprof.load(f"{web.url}/locked/run/h.xplane.pb")
    with pytest.raises(TraceError, match=r"broken/run/h\.xplane\.pb cannot be read: .*500"):
        tfprof.load(f"{web.url}/broken/run/h.xplane.pb")


def test_a_file_cut_short_on_its_way_is_an_error(web: Served) -> None:
    web.put("run/h.cut", b"")
    with pytest.raises(TraceError, match=r"h\.cut cannot be read: ClientPayloadError"):
        tfprof.load(f"{web.url}/run/h.cut")


def test_a_file_cut_short_where_it_lies_is_an_error_that_names_the_url(served: Served) -> None:
    url = served.put("run/h.xplane.pb", trace()[:-3])
    with pytest.raises(TraceError, match=r"/run/h\.xplane\.pb"):
        tfprof.load(url)


def test_a_password_opens_a_server_and_is_never_shown(web: Served) -> None:
    web.put("locked/run/h.xplane.pb", trace())
    url = web.url.replace("http://", "http://me:secret@")
    prof = tfprof.load(f"{url}/locked/run/h.xplane.pb")
    assert prof.trace.n_events == 1
    told = [prof.title, repr(prof), prof.text(), str(prof.run.opened.paths[0]), *prof.notices]
    assert not any("secret" in text for text in told)
    with pytest.raises(TraceError) as caught:
        tfprof.load(f"{url}/locked/none.pb")
    assert "secret" not in str(caught.value)
    assert "..." in str(caught.value)


def test_a_password_is_never_shown_where_files_lie_at_the_root_of_a_server(web: Served, tmp_path: Path) -> None:
    for number in range(3):
        web.put(f"worker{number}.xplane.pb", trace(f"op {number}"))
    url = web.url.replace("http://", "http://me:hunter2@")
    with ThreadPoolExecutor(2) as threads:
        reduced = tfprof.load(f"{url}/", executor=threads)
    for prof in (tfprof.load(f"{url}/worker0.xplane.pb"), tfprof.load(f"{url}/"), reduced):
        assert prof.title == web.url.removeprefix("http://")
        page = prof.to_html(tmp_path / "page.html").read_text()
        told = [prof.title, repr(prof), prof.text(), prof.report(), page, *prof.notices, *prof.hosts["path"]]
        assert not any("hunter2" in text or "me:" in text for text in told[:4])
        assert not any("hunter2" in text for text in told)


@pytest.mark.parametrize(
    ("url", "name", "above"),
    [
        ("http://me:secret@host:80/h.xplane.pb", "h.xplane.pb", "host:80"),
        ("http://me:secret@host:80/", "host:80", "host:80"),
        ("http://me:secret@host:80?token=1", "host:80", "host:80"),
        ("http://me:sec@ret@host/run%201/", "run 1", "host"),
        ("http://host/a@b/c", "c", "a@b"),
        ("memory://run/h.xplane.pb", "h.xplane.pb", "run"),
    ],
)
def test_the_name_of_a_place_is_of_its_path_and_at_the_top_the_host_alone(url: str, name: str, above: str) -> None:
    place = UrlPath(url)
    assert (place.name, place.parent.name) == (name, above)


@pytest.mark.parametrize("password", ["hun@ter2", "pa'ss", 'pa"ss', "p%40ss", "a#bc"])
def test_no_part_of_an_odd_password_is_shown(web: Served, password: str) -> None:
    web.put("run/h.xplane.pb", trace())
    for below in ("none.pb", "broken/h.pb", "run/none*.pb"):
        with pytest.raises(TraceError) as caught:
            tfprof.load(f"{web.url.replace('http://', f'http://me:{password}@')}/{below}")
        assert not any(part in str(caught.value) for part in (password[:3], password[-3:], "me:")), str(caught.value)


def test_a_token_in_a_query_is_never_shown(web: Served) -> None:
    web.put("run/h.xplane.pb", trace())
    web.put("run/text.txt", b"no trace at all, surely")
    assert tfprof.load(f"{web.url}/run/h.xplane.pb?token=secret").trace.planes[0].host == "h"
    for bad in ("run/text.txt", "run/none.pb", "broken/h.pb"):
        with pytest.raises(TraceError) as caught:
            tfprof.load(f"{web.url}/{bad}?token=secret")
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__cause__ is None


def test_a_missing_file_system_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme, package in (("gs", "gcsfs"), ("s3", "s3fs"), ("http", "aiohttp")):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
        monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, scheme, raising=False)
        with pytest.raises(TraceError, match=rf"{scheme}://bucket/run cannot be read: .*pip install {package}"):
            tfprof.load(f"{scheme}://bucket/run")


def test_an_unknown_scheme_is_an_error() -> None:
    with pytest.raises(TraceError, match=r"nonsense://x/y cannot be read: .*nonsense"):
        tfprof.load("nonsense://x/y")


def test_a_graph_can_be_given_as_a_url(served: Served) -> None:
    trace_url = served.put("run/h.xplane.pb", trace())
    with pytest.raises(TraceError, match="graph=.*does not exist"):
        tfprof.load(trace_url, graph=f"{served.url}/none.pb")


def test_a_url_given_as_a_path_is_told_to_be_text() -> None:
    with pytest.raises(TraceError, match=r"Nothing is at memory:/x/y\. .* Give a URL as text"):
        tfprof.load(Path("memory://x/y"))


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    file = tmp_path / "a b.xplane.pb"
    file.write_bytes(trace())
    assert open_traces(file.as_uri()).paths == (file,)


def test_a_new_run_is_seen_when_a_logdir_is_loaded_again(served: Served) -> None:
    served.put(f"{RUN}/h.xplane.pb", trace("before"))
    assert names(served.url) == ["before"]
    served.put("plugins/profile/2026_11_20_12_00_00/h.xplane.pb", trace("after"))
    assert names(served.url) == ["after"]


def test_the_beginning_of_a_large_file_is_read_without_the_rest(web: Served) -> None:
    url = web.put("large.bin", b"start" + b"\0" * 50_000_000)
    place = place_of(url)
    assert first_bytes(place, 5) == b"start"
    assert isinstance(place, UrlPath)
    assert place._copy is None


def test_a_place_goes_to_another_process(memory: Served) -> None:
    place = place_of(memory.put("run/h.xplane.pb", trace()))
    assert pickle.loads(pickle.dumps(place)) == place


def test_copies_of_files_go_with_the_profile(web: Served) -> None:
    prof = tfprof.load(web.put("run/h.xplane.pb", trace()))
    place = prof.run.opened.paths[0]
    assert isinstance(place, UrlPath)
    copy = place._copy
    assert copy is not None
    assert copy.exists()
    places._remove(copy, os.getpid() + 1)
    assert copy.exists(), "another process took it away"
    del prof, place
    gc.collect()
    assert not copy.exists()


def test_many_hosts_are_reduced_from_a_server_and_a_failed_one_is_named_without_its_password(web: Served) -> None:
    for number in range(20):
        web.put(f"locked/run/worker{number:02d}.xplane.pb", trace(f"op {number}"))
    web.put("locked/run/worker07.xplane.pb", b"\xff" * 50)
    url = f"{web.url.replace('http://', 'http://me:secret@')}/locked/run"
    with ThreadPoolExecutor(2) as threads:
        prof = tfprof.load(url, executor=threads)
    assert not prof.has_events
    [failed] = [notice for notice in prof.notices if "could not be read" in notice]
    assert failed.startswith("1 of 20 hosts could not be read: worker07: ")
    assert not any("secret" in text for text in (*prof.notices, *prof.hosts["path"], prof.title, repr(prof)))
    assert list(prof.host("worker03").events["name"]) == ["op 3"]


def test_host_files_are_listed_and_not_read(web: Served) -> None:
    for number in range(3):
        web.put(f"{RUN}/worker{number}.xplane.pb", b"never read")
    found = find(web.url)
    assert [file.name for file in found.files] == ["worker0.xplane.pb", "worker1.xplane.pb", "worker2.xplane.pb"]
    assert not any(path.endswith(".pb") for path in web.asked)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:80/run/h.pb", "http://host:80/run/h.pb"),
        ("http://host/run@1/h.pb", "http://host/run@1/h.pb"),
        ("http://host:80/run@1/h.pb", "http://host:80/run@1/h.pb"),
        ("ftp://user:password@host/x", "ftp://...@host/x"),
        ("ftp://user:p@ss@host/x", "ftp://...@host/x"),
        ("https://token@host/x?key=1#part", "https://...@host/x?..."),
        ("https://user:pa'ss@host/x", "https://...@host/x"),
        ("https://user:p/ss@host/x", "https://...@host/x"),
        ("https://user:p?ss@host/x", "https://...@host/x"),
        ("https://user:p#ss@host/x", "https://...@host/x"),
        ("simplecache::https://user:p@ss@host/x", "simplecache::https://...@host/x"),
    ],
)
def test_a_url_is_shown_without_what_only_its_owner_may_see(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize("password", ["secret", "s3@cret", "s3'cret", 's3"cret', "s3<cret", "s3>cret"])
def test_urls_in_a_text_are_shown_without_passwords(password: str) -> None:
    text = f"Cannot open 'https://me:{password}@host/x?key=1' or \"ftp://me:{password}@other\": 404, see http://help/me"
    shown = without_secrets(text)
    assert shown == "Cannot open 'https://...@host/x?...' or \"ftp://...@other\": 404, see http://help/me"


@pytest.mark.parametrize("password", ["hun ter2", "hun@ter2", "h%40nter2", "hün'ter2"])
def test_what_is_known_to_be_secret_is_left_out_of_an_error_wherever_it_stands(password: str) -> None:
    from urllib.parse import quote, unquote

    url = f"ftp://me:{password}@host/x?sig=a'bc"
    told = [password, quote(password), unquote(password), f"me:{password}", "sig=a'bc"]
    error = failure(url, OSError(f"530 {'; '.join(told)} refused"))
    assert not any(part in str(error) for part in (*told, password[-4:], "'bc")), str(error)
    assert str(error).startswith("ftp://...@host/x?... cannot be read: OSError: 530 ...")
    assert "refused" in str(error)


def test_a_text_without_secrets_stays_as_it_is() -> None:
    assert without_secrets("No file a@b in C:\\dir, it's gone") == "No file a@b in C:\\dir, it's gone"

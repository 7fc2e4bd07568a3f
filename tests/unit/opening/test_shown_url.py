"""What of a URL, and of a text that names some, is shown."""

from __future__ import annotations

import pytest

from tfprof_widgets.read import failure, shown_url, without_secrets


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

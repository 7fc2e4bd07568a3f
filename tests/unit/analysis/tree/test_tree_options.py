"""Options of a tree as a user gives them are checked, and what is wrong with them is named."""

from __future__ import annotations

from typing import Any

import pytest

from tfprof_widgets.analysis import TreeOptions, make_tree_options


def test_nothing_given_shows_everything() -> None:
    assert make_tree_options() == TreeOptions()
    assert TreeOptions().select is None and TreeOptions().has("micros")


def test_texts_are_taken_from_any_iterable_or_alone() -> None:
    options = make_tree_options(select="bytes", show_name_regexes=["a", "b"], hide_name_regexes=iter("c"), min_bytes=5)
    assert options.select == ("bytes",) and not options.has("micros")
    assert options.show_name_regexes == ("a", "b")
    assert options.hide_name_regexes == ("c",)
    assert options.min_bytes == 5


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"max_dept": 3},
            TypeError,
            r"'max_dept' is no option of a tree \(is 'max_depth' meant\?\)\. The options: max_depth,",
        ),
        ({"max_depth": "3"}, TypeError, "max_depth is '3', not a whole number"),
        ({"min_micros": True}, TypeError, "min_micros is True, not a whole number"),
        ({"account_displayed_op_only": 1}, TypeError, "account_displayed_op_only is 1, not True or False"),
        ({"average": "yes"}, TypeError, "average is 'yes', not True or False"),
        (
            {"select": ["micros", "byte"]},
            ValueError,
            r"select has 'byte' \(is 'bytes' meant\?\)\. It may have: micros,",
        ),
        ({"order_by": "size"}, ValueError, r"order_by has 'size'\. It may have: name, depth, micros,"),
        ({"order_by": ["name"]}, ValueError, r"order_by has \['name'\]"),
        ({"show_name_regexes": [3]}, TypeError, "show_name_regexes has 3: give texts"),
        ({"trim_name_regexes": 3}, TypeError, "trim_name_regexes has 3: give texts"),
        (
            {"hide_name_regexes": ["ok", "a("]},
            ValueError,
            r"hide_name_regexes has 'a\(', which is no regular expression of Python: missing \).* backslash",
        ),
        ({"show_name_regexes": "a{99999999999999}"}, ValueError, "show_name_regexes has 'a{9+}', which is no regular"),
        ({"show_name_regexes": "(?u)a"}, ValueError, r"show_name_regexes has '\(\?u\)a', which is no regular"),
        ({"start_name_regexes": "(" * 5000 + ")" * 5000}, ValueError, "start_name_regexes has .*which is no regular"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_wrong_is_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_tree_options(**options)

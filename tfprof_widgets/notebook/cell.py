"""cell: the source under a magic -> compiled code that runs, displays and fails as it would without the magic."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

from ..errors import TfProfError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@dataclass(frozen=True)
class CellCode:
    """Compiled statements, and the last expression apart from them."""

    body: CodeType
    last: CodeType | None
    """The last expression, when its value is to be displayed."""

    def run(self, global_ns: dict[str, Any], local_ns: dict[str, Any] | None) -> Any:
        """Run it all and return the value of the last expression; None where there is none to display."""
        __tracebackhide__ = True
        exec(self.body, global_ns, local_ns)
        return None if self.last is None else eval(self.last, global_ns, local_ns)


def compile_cell(shell: InteractiveShell, source: str, *, magic_line: str, raw_cell: str) -> CellCode:
    """Compile the body of a cell magic, with the line numbers that it has in the whole cell.

    Args:
        shell: its transformations, AST transformers, `__future__` flags and display setting apply.
        source: the body, as the magic gets it.
        magic_line: the line above it, for tracebacks.
        raw_cell: the whole cell as the user wrote it: a kernel derives the name of the code from it.

    Raises:
        SyntaxError: the body is not Python; the line is that in the cell.
        TfProfError: it awaits at its top, which no magic can do.
    """
    # Above the first statement: what IPython cut off before the magic, the magic's own line, what it cuts off below.
    raw, body = (
        raw_cell.rstrip("\n"),
        source.rstrip("\n"),
    )  # IPython's history has no newline at the end, magics get one
    above = raw.removesuffix(body).count("\n") if body and raw.endswith(body) else 1
    n_blank = source[: len(source) - len(source.lstrip())].count("\n")
    code = "\n" * (above - 1) + f"# {magic_line}\n" + "\n" * n_blank + shell.transform_cell(source)
    # Not `execution_count`: IPython 9 has raised it by the time the cell runs.
    name = shell.compile.cache(code, shell.displayhook.prompt_count, raw_code=raw_cell)
    return _compile(shell, code, name, displays=shell.ast_node_interactivity != "none" and not _is_quiet(source))


def compile_statement(shell: InteractiveShell, source: str) -> CellCode:
    """Compile what stands behind a line magic.

    Raises:
        SyntaxError: it is not Python.
        TfProfError: it awaits at its top, which no magic can do.
    """
    code = shell.transform_cell(source)
    return _compile(shell, code, "<tfprofile>", displays=not _is_quiet(source))


def _compile(shell: InteractiveShell, code: str, name: str, *, displays: bool) -> CellCode:
    try:
        tree = shell.transform_ast(shell.compile.ast_parse(code, filename=name))
        last = None
        if displays and tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        compiler: Callable[..., CodeType] = shell.compile
        return CellCode(
            body=compiler(tree, name, "exec"),
            last=compiler(last, name, "eval") if last is not None else None,
        )
    except SyntaxError as error:
        if error.msg and "outside" in error.msg and ("await" in error.msg or "async" in error.msg):
            raise TfProfError(
                f"Line {error.lineno} awaits at the top of the cell, and IPython runs magics without an event loop of "
                "their own. Use `with tfprof_widgets.profile() as prof:` in a plain cell; there `await` works."
            ) from None
        raise


def _is_quiet(source: str) -> bool:
    """Whether the source ends with a semicolon, by which notebooks ask not to display the last value."""
    skipped = {tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.DEDENT, tokenize.INDENT}
    last = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in skipped:
                last = token.string
    except (tokenize.TokenError, SyntaxError):  # lines such as `!ls` are no Python
        return source.rstrip().endswith(";")
    return last == ";"

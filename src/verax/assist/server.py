"""`verax mcp`: the tools as a server of the Model Context Protocol, over stdin and stdout.

This is the one module that imports the SDK, which is slow to load and not always installed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Annotated, ParamSpec

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from verax.audit.errors import UsageError, described

from .pages import page
from .tools import Tools

_P = ParamSpec("_P")

_INSTRUCTIONS = """\
Finds bugs in JAX programs that raise no error: reused random keys, mixed axes, lost updates,
blocked gradients, state that leaks across episodes. By static analysis: nothing of the workspace is
run or imported, so what depends on values or shapes that the code does not state may not be found.
`audit` after a change to JAX code, with diff="HEAD" for what the change brings; `explain` for what
a code means; `flow` for how data goes through a function; `check_snippet` before code is written.
An answer that ends with a cursor has more: repeat the call with that cursor."""

_READ_ONLY = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

Paths = Annotated[
    list[str],
    Field(description="Files and folders, relative to the workspace; all of it if there are none."),
]
Diff = Annotated[
    str,
    Field(description="A git revision: only findings that are new since then. HEAD: uncommitted."),
]
Select = Annotated[
    str, Field(description="Only these rules: codes, their beginnings, or names (AX,key-reused).")
]
Cursor = Annotated[str, Field(description="Where to go on: what the answer before ended with.")]
Rule = Annotated[
    str, Field(description="A rule's code (RK001) or name (key-reused), or a family (RK, prng).")
]
File = Annotated[str, Field(description="A Python file or notebook, relative to the workspace.")]
Name = Annotated[str, Field(description="A function or a variable in that file.")]
Code = Annotated[str, Field(description="A Python program with its imports.")]


def serve(folder: str) -> None:
    """Serve the tools for a workspace until the other side has closed the connection."""
    tools = Tools(folder)
    os.chdir(folder)  # answers name files relative to it
    server_of(tools).run("stdio")


def server_of(tools: Tools) -> MCPServer:
    """A server of some tools."""
    from verax import __version__

    server = MCPServer(
        "verax", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    # The analysis is for one file at a time; the SDK calls tools from several threads.
    lock = threading.Lock()

    def answer(tool: Callable[_P, str], *args: _P.args, **options: _P.kwargs) -> str:
        with lock:
            try:
                return tool(*args, **options)
            except UsageError as error:
                raise ToolError(page([str(error)])) from None
            except Exception as error:
                raise ToolError(page([f"verax itself failed: {described(error)}"])) from error

    def audit(paths: Paths = [], diff: Diff = "", select: Select = "", cursor: Cursor = "") -> str:  # noqa: B006
        """Audit JAX code: findings with place, reason and fix, the gravest kind first."""
        return answer(tools.audit, paths, diff, select, cursor)

    def explain(rule: Rule, cursor: Cursor = "") -> str:
        """Explain a rule: what it finds and why that matters, with a wrong and a right program."""
        return answer(tools.explain, rule, cursor)

    def flow(path: File, name: Name, cursor: Cursor = "") -> str:
        """Show how data flows through a function or around a variable: steps, shapes, axes."""
        return answer(tools.flow, path, name, cursor)

    def check_snippet(code: Code, cursor: Cursor = "") -> str:
        """Audit a program that is in no file yet. It is not run."""
        return answer(tools.check_snippet, code, cursor)

    for tool in (audit, explain, flow, check_snippet):
        # An answer is text; as structured output it would be sent, and paid for, twice.
        server.add_tool(tool, annotations=_READ_ONLY, structured_output=False)
    return server

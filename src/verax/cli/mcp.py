"""`verax mcp`: a server that coding assistants ask; see `verax.assist.server`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from verax.audit.errors import UsageError

# What the server's module imports beside verax; without the extra, one of them is not there.
_OF_THE_EXTRA = ("mcp", "pydantic")


def add_mcp(commands: Any) -> None:
    """Add the command to those of the command line."""
    mcp = commands.add_parser(
        "mcp",
        help="answer coding assistants, over the Model Context Protocol",
        description="Serve the tools audit, explain, flow and check_snippet over stdin and stdout\n"
        "until stdin ends. They read, in one folder; nothing is run, traced or written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    mcp.add_argument(
        "workspace",
        metavar="FOLDER",
        nargs="?",
        default=".",
        help="the folder that assistants may ask about (default: the working directory)",
    )
    mcp.set_defaults(run=_mcp)


def _mcp(options: argparse.Namespace) -> int:
    folder: str = options.workspace
    if not os.path.isdir(folder):
        raise UsageError(f"{folder}: there is no such folder to serve")
    try:
        from verax.assist.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_THE_EXTRA:
            raise
        raise UsageError(
            "verax mcp needs version 2 of the MCP SDK: pip install 'verax[mcp]'"
        ) from None
    serve(folder)
    return 0

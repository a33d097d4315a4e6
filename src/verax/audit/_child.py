"""The process that imports and traces what is audited, so that neither can harm the auditor.

It reads a request as JSON from stdin, and writes lines of JSON to stdout: which phase it is in, and
at last a report or an error. Whatever the audited program prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import reprlib
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from . import _importing
from ._keeper import go_on_below_keeper
from .errors import UsageError, message_of
from .output import write_traceback
from .report import Report, failure_of

Request = dict[str, Any]


def main() -> None:
    """Serve one request and end, whatever threads the program has left behind."""
    go_on_below_keeper(parent=int(sys.argv.pop()))
    answers = _own_stdout()
    request: Request = json.loads(sys.stdin.read())

    def send(**message: Any) -> None:
        sys.stderr.flush()  # once the answer is there, this process may be ended
        answers.write(json.dumps(message, allow_nan=False) + "\n")
        answers.flush()

    code = 0
    try:
        report = serve(request, lambda phase: send(phase=phase))
    except UsageError as error:
        send(error=str(error))
    except Exception as error:
        # Ours, not the user's: its text alone would not be enough to mend it.
        write_traceback()
        send(failure=str(failure_of(error)))
        code = 1
    except SystemExit as error:
        # Python would wait for threads that may never end.
        send(error=f"tracing {request['target']}: it calls sys.exit({_code(error)})")
    except BaseException as error:
        # Of the user's: nothing of ours raises what is no `Exception`.
        send(error=f"tracing {request['target']}: it raises {type(error).__name__}")
    else:
        from .render.to_json import as_data

        send(report=as_data(report), passed=sorted(report.passed))
    answers.close()
    os._exit(code)


def _own_stdout() -> TextIO:
    """Stdout for us alone; for everybody else, also below Python, it is stderr from here on."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return own


def serve(request: Request, enter: Callable[[str], None]) -> Report:
    """The report that a request asks for; `enter` is told of each phase before it starts."""
    here = Path.cwd()
    home = request["file"] or request["module"]
    enter("import")
    with _user_code(f"importing {home}", home):
        if request["file"]:
            module = _importing.import_file(request["file"], here)
        else:
            module = _importing.import_module(request["module"], here)
    function = _importing.attribute(module, request["attribute"], home)
    if not callable(function):
        raise UsageError(
            f"{request['target']} is a value of type {type(function).__name__}, not a function"
        )
    enter("inputs")
    inputs = _inputs(request, module, function, home)

    # A program may have gone elsewhere; files are shown relative to where we started.
    os.chdir(here)
    from .run import audit_callable

    enter("trace")
    from .trace.axes.declared import AxesError

    try:
        return audit_callable(
            function,
            inputs.args,
            inputs.kwargs,
            axes=inputs.axes,
            ranges=inputs.ranges,
            target=request["target"],
            witness=request["witness"],
            given_by=_importing.attribute(module, request["inputs"], home)
            if request["inputs"]
            else None,
        )
    except AxesError as error:
        raise UsageError(f"--axes {request['axes']}: {error}") from None


def _inputs(
    request: Request, module: ModuleType, function: Callable[..., object], home: str
) -> Any:
    with _user_code("importing jax", home):
        import jax

        if foreign := _foreign_jax(jax):
            raise UsageError(foreign)
        from . import inputs as inputs_of
    from .specs import parse_inputs

    if request["inputs"]:
        example = _example(module, request["inputs"], home)
        inputs = inputs_of.inputs_from_example(example, request["inputs"])
    else:
        specs = parse_inputs(request["specs"], request["dims"])
        inputs = inputs_of.inputs_from_specs(function, specs, request["dims"])
    if request["axes"]:
        axes = inputs_of.axes_from_example(_example(module, request["axes"], home), request["axes"])
        inputs_of.check_parameters(function, axes, request["axes"])
        inputs.axes.update(axes)
    return inputs


def _example(module: ModuleType, name: str, home: str) -> object:
    value = _importing.attribute(module, name, home)
    if not callable(value):
        return value
    with _user_code(f"{name}() in {home}", home):
        return value()


@contextmanager
def _user_code(doing: str, home: str) -> Generator[None]:
    """Turn whatever the user's code does instead of returning into one line."""
    try:
        yield
    except UsageError:
        raise
    except SystemExit as error:
        hint = "; put what runs it below `if __name__ == '__main__':`"
        is_import = doing.startswith("importing ")
        raise UsageError(
            f"{doing}: it calls sys.exit({_code(error)})"
            f"{_place(error, home)}{hint if is_import else ''}"
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if foreign := _foreign_jax(_lacking(error)):
            raise UsageError(foreign) from None
        raise UsageError(f"{doing} failed: {_text(error)}{_place(error, home)}") from None


def _lacking(error: BaseException) -> object:
    """The module that lacks what somebody asked it for."""
    if isinstance(error, ImportError):
        return sys.modules.get((error.name or "").partition(".")[0])
    return error.obj if isinstance(error, AttributeError) else None


def _foreign_jax(module: object) -> str:
    """What to say of a module that is imported as JAX, and is another one: `jax.py` of the user."""
    if module is None or module is not sys.modules.get("jax") or hasattr(module, "make_jaxpr"):
        return ""
    file = getattr(module, "__file__", None)
    where = _short(file) if file else "a folder"
    return f"`import jax` finds {where}, which is not JAX: give that another name"


def _code(error: SystemExit) -> str:
    return "" if error.code is None else reprlib.repr(error.code)


def _text(error: BaseException) -> str:
    lines = [line.strip() for line in message_of(error).splitlines() if line.strip()]
    if isinstance(error, SyntaxError):
        lines = [error.msg]
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def _place(error: BaseException, home: str) -> str:
    """` (file:line)` of the innermost step in the user's own code."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" ({_short(error.filename)}:{error.lineno})"
    own = str(Path(__file__).parent)
    here = str(Path.cwd())
    target = str(Path(home).resolve().parent) if home.endswith(".py") else here
    users = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith((here, target))
        and not frame.filename.startswith(own)
        and "site-packages" not in frame.filename
    ]
    for frame in reversed(users):
        return f" ({_short(frame.filename)}:{frame.lineno})"
    return ""


def _short(file: str) -> str:
    from .render._places import short_file

    return short_file(file, Path.cwd())

"""Run a script or a module as Python itself would: `python file.py …`, `python -m module …`."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType

from ...errors import UsageError, described
from .steps import StepsDoneError


@dataclass(frozen=True)
class Ended:
    """How a program has ended: its exit code, and whether it was interrupted by the user."""

    code: int
    interrupted: bool = False
    by_steps: bool = False


@dataclass(frozen=True)
class Program:
    """A program that is ready to run as `__main__`."""

    name: str
    file: str
    code: CodeType
    module: ModuleType
    first_path: str | None
    arguments: tuple[str, ...]

    def run(self) -> Ended:
        """Run it to its end; its errors are printed as Python prints them."""
        sys.argv = [self.file if self.module.__spec__ else self.name, *self.arguments]
        if self.first_path is not None:
            _put_first(self.first_path)
        sys.modules["__main__"] = self.module
        try:
            exec(self.code, self.module.__dict__)
        except StepsDoneError:
            return Ended(0, by_steps=True)
        except SystemExit as error:
            return Ended(_exit_code(error))
        except KeyboardInterrupt as error:
            _print(error)
            return Ended(130, interrupted=True)
        except BaseException as error:
            _print(error)
            return Ended(1)
        finally:
            _wait_for_threads()
        return Ended(0)


def _put_first(folder: str) -> None:
    """Let modules be looked for in a folder first, and not where verax itself was started from."""
    own = os.path.realpath(os.path.dirname(_STARTED))
    if sys.path and os.path.realpath(sys.path[0]) == own:
        sys.path[0] = folder
    else:
        sys.path.insert(0, folder)


_STARTED = sys.argv[0]


def script(file: str, arguments: Sequence[str]) -> Program:
    """A script, as `python file` runs it.

    Raises:
        UsageError: There is none, or it is not Python.
    """
    if os.path.isdir(file):
        inside = os.path.join(file, "__main__.py")
        if not os.path.isfile(inside):
            raise UsageError(f"{file}: is a folder without a __main__.py; name a script")
        return _of_file(inside, file, os.path.realpath(file), arguments)
    if not os.path.exists(file):
        raise UsageError(f"{file}: there is no such script; for a module, write -m before its name")
    return _of_file(file, file, os.path.dirname(os.path.realpath(file)), arguments)


def _of_file(file: str, name: str, folder: str, arguments: Sequence[str]) -> Program:
    absolute = os.path.abspath(file)
    try:
        with io.open_code(absolute) as stream:
            source = stream.read()
        code = compile(source, absolute, "exec", dont_inherit=True)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except SyntaxError as error:
        raise UsageError(f"{file}:{error.lineno}: {error.msg}") from None
    except ValueError as error:  # a NUL
        raise UsageError(f"{file}: is not a Python file: {error}") from None
    main = ModuleType("__main__")
    main.__file__ = absolute
    main.__loader__ = SourceFileLoader("__main__", absolute)
    main.__dict__["__builtins__"] = __builtins__
    return Program(name, absolute, code, main, folder, tuple(arguments))


def module(name: str, arguments: Sequence[str]) -> Program:
    """A module, as `python -m name` runs it.

    Raises:
        UsageError: There is none that can be run.
    """
    _put_first(os.getcwd())
    spec = _found(name)
    if spec.submodule_search_locations is not None:
        spec = _found(f"{name}.__main__")
    code = getattr(spec.loader, "get_code", lambda _: None)(spec.name)
    if code is None or spec.origin is None:
        raise UsageError(f"-m {name}: has no code that Python could run")
    main = ModuleType("__main__")
    main.__file__, main.__spec__, main.__loader__ = spec.origin, spec, spec.loader
    main.__package__ = spec.parent
    main.__dict__["__builtins__"] = __builtins__
    return Program(name, spec.origin, code, main, None, tuple(arguments))


def _found(name: str) -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        raise UsageError(f"-m {name}: there is no module {error.name}") from None
    except Exception as error:
        raise UsageError(f"-m {name}: its package cannot be imported: {described(error)}") from None
    if spec is None:
        raise UsageError(f"-m {name}: there is no such module")
    return spec


def _exit_code(error: SystemExit) -> int:
    """What Python makes of the argument of `sys.exit`."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _print(error: BaseException) -> None:
    """Print an exception as Python would at the end of a program, without our own frames."""
    own, frames = os.path.dirname(__file__), error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(own):
        frames = frames.tb_next
    hook: Callable[[type[BaseException], BaseException, TracebackType | None], object]
    hook = sys.excepthook
    try:
        hook(type(error), error.with_traceback(frames), frames)
    except Exception:
        traceback.print_exception(type(error), error, frames)


def _wait_for_threads() -> None:
    """Wait for what Python would wait for before a program ends."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()

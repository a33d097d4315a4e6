"""What verax does, in a minute: `make demo`."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "cartpole"

STEPS = (
    (
        "A program trains without an error or a warning. It does not learn, and nothing says why.",
        "python broken/train.py",
    ),
    (
        "verax reads its files. Nothing of them is run or imported.",
        "verax audit broken --format concise",
    ),
    (
        "It also traces an update, on example inputs, and follows every value through it.",
        "verax audit broken/train.py:update --inputs example --format concise",
    ),
    (
        "Each finding says what happens, what was expected, a fix, and what led to it.",
        "verax audit broken --select RK001",
    ),
    (
        "The repaired program has no findings, and learns.",
        "verax audit repaired repaired/train.py:update --inputs example --format concise",
        "python repaired/train.py",
    ),
    (
        "What only running can tell is checked inside of compiled code, and repaired.",
        "python ../growing_buffers.py",
    ),
)


def run(command: str) -> None:
    print(f"$ {command}", flush=True)
    program, *arguments = command.split()
    module = ["-m", "verax"] if program == "verax" else []
    code = subprocess.run([sys.executable, *module, *arguments], cwd=FOLDER).returncode
    # With 1 an audit says that it has found something.
    if code > (1 if module else 0):
        sys.exit(f"{command!r} failed")


def main() -> None:
    for number, (heading, *commands) in enumerate(STEPS, 1):
        print(f"[{number}] {heading}\n")
        for command in commands:
            run(command)
        print()


if __name__ == "__main__":
    main()

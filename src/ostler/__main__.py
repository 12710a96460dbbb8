"""The program: runs a command and turns whatever happens into a sentence and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

import click

from ostler.cli.app import app


def main() -> NoReturn:
    code = run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a late Ctrl-C must not change how this ended
    sys.exit(code)


def run(argv: list[str]) -> int:
    """The exit code of one command line."""
    try:
        code = app.main(argv, prog_name="ostler", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_left()
    except (KeyboardInterrupt, click.Abort):
        return 130
    except Exception as error:  # noqa: BLE001  (the one place that turns a surprise into an exit code)
        from ostler.cli.trouble import report  # noqa: PLC0415  (what goes well has no use for it)

        return report(error, argv)
    return code if isinstance(code, int) else 0


def _reader_left() -> int:
    """Whoever read our output has gone (`ostler status | head`): nothing to say, nobody to say it to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    main()

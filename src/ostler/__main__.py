"""The program: runs a command and turns whatever happens into a sentence and an exit code."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

import click

from ostler.cli.app import app
from ostler.cli.arguments import read_arguments
from ostler.cli.streams import drop_unwritten, secure_streams


def main() -> NoReturn:
    secure_streams()
    code = run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a late Ctrl-C must not change how this ended
    drop_unwritten()
    sys.exit(code)


def run(argv: list[str]) -> int:
    """The exit code of one command line."""
    try:
        code = app.main(read_arguments(argv), prog_name="ostler", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # click makes the second of the first
        return 0  # whoever read our output has had enough: `ostler status | head`
    except (KeyboardInterrupt, click.Abort):
        return 130
    except Exception as error:  # noqa: BLE001  (the one place that turns a surprise into an exit code)
        from ostler.cli.trouble import report  # noqa: PLC0415  (what goes well has no use for it)

        return report(error, argv)
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    main()

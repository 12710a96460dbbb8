"""The `ostler` program: run one command and return its exit code."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from typing import NoReturn

from ostler.cli.arguments import decode_arguments
from ostler.cli.terminal.streams import discard_unwritten, reopen_streams

# A command creates thousands of objects while it is imported, and none of them is garbage. With the default
# of 700 the collector would look at all of them again and again.
_NEW_OBJECTS_PER_COLLECTION = 50_000


def main() -> NoReturn:
    """Run the program in a process of its own, and end that process."""
    gc.set_threshold(_NEW_OBJECTS_PER_COLLECTION, *gc.get_threshold()[1:])
    code = 1

    def leave() -> None:
        discard_unwritten()
        os._exit(code)

    # Registered first, so it runs last: after all threads and other exit functions, and instead of the
    # destruction of every module, which takes a tenth of a short command.
    atexit.register(leave)
    code = run_program()
    sys.exit(code)


def run_program() -> int:
    """Run the command line of this process and return its exit code; all output is written."""
    reopen_streams()
    code = run(sys.argv[1:])
    # A late Ctrl-C must not change the exit code.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    discard_unwritten()
    temporal = sys.modules.get("ostler.engine.temporal.connection")
    if temporal is not None and temporal.CONNECTED.is_set():
        # Threads of its client can crash the interpreter while it ends.
        os._exit(code)
    return code


def run(argv: list[str]) -> int:
    """Run one command line and return its exit code."""
    # Imported after the collector is set.
    import click  # noqa: PLC0415

    from ostler.cli.app import app  # noqa: PLC0415

    try:
        code = app.main(decode_arguments(argv), prog_name="ostler", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # The reader closed the pipe, as in `ostler status | head`; click turns this into SystemExit.
        return 0
    except (KeyboardInterrupt, click.Abort):
        return 130
    # The one place that turns unexpected errors into an exit code.
    except Exception as error:  # noqa: BLE001
        from ostler.cli.terminal.error_output import report_error  # noqa: PLC0415

        return report_error(error, argv)
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    main()

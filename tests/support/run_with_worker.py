"""Runs `ostler run` beside a worker, as one program: python run_with_worker.py OUTPUT JOBS [RUN_ARGUMENT]...

Its signals go to the run. When it is killed, both are, as on a machine that is lost.
"""

from __future__ import annotations

import signal
import subprocess
import sys

OSTLER = ("setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "ostler")


def main(output: str, jobs: str, *args: str) -> int:
    with open(output, "ab") as messages:
        limit = ("-j", jobs) if jobs else ()
        worker = subprocess.Popen([*OSTLER, "worker", *limit], stdout=messages, stderr=messages)
    run = subprocess.Popen([*OSTLER, "run", *args])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: run.send_signal(number))
    code = run.wait()
    worker.terminate()
    worker.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

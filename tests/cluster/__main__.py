"""Run faults, each on a cluster of its own, and print what the oracle finds: `python -m cluster NAME...`"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

SUPPORT = Path(__file__).parents[1] / "support"
sys.path.append(str(SUPPORT))

from cluster.faults import FAULTS  # noqa: E402
from cluster.lab import Lab  # noqa: E402
from cluster.namespaces import enter  # noqa: E402
from cluster.oracle import check, measure  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cluster", description=__doc__)
    parser.add_argument("names", nargs="+", choices=FAULTS, metavar="NAME", help=", ".join(FAULTS))
    parser.add_argument("--keep", action="store_true", help="keep the directory of the cluster")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        return run_fault(asked.names[0], keep=asked.keep)
    return max(run_in_namespaces(name, keep=asked.keep) for name in asked.names)


def run_in_namespaces(name: str, *, keep: bool) -> int:
    command = [sys.executable, "-m", "cluster", name, "--inside", *(["--keep"] if keep else [])]
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(enter(command), env=environ, check=False).returncode


def run_fault(name: str, *, keep: bool) -> int:
    """Run one fault; this process is in the namespaces of a new cluster."""
    fault = FAULTS[name]
    directory = Path(tempfile.mkdtemp(prefix="cluster-"))
    directory.chmod(0o755)
    print(f"{name}: {fault.intent}", flush=True)
    began = time.monotonic()
    with Lab(directory, fault.options) as lab:
        print(f"  the cluster runs after {time.monotonic() - began:.1f} s", flush=True)
        lab.new(fault.tasks)
        lab.start_workers(fault.failpoint)
        try:
            fault.run(lab)
        except (AssertionError, RuntimeError, OSError, subprocess.SubprocessError):
            lab.failures.append(f"the fault did not end: {traceback.format_exc()}")
        lab.wait_until_done(fault.seconds)
        seen = lab.collect()
    found = [*lab.failures, *check(seen, fault.options.heartbeat_seconds)]
    for sentence in (*lab.figures, *measure(seen)):
        print(f"  {sentence}")
    for sentence in found:
        print(f"  {sentence}")
    print(f"  {'FAILED' if found else 'ok'} after {time.monotonic() - began:.1f} s", flush=True)
    if keep or found:
        events = "".join(json.dumps(event) + "\n" for event in seen.events)
        (directory / "events.jsonl").write_text(events)
        print(f"  kept: {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

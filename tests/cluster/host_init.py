"""Process 1 of a host: hides the files of the others, then reaps what is orphaned until it is killed.

Run as `python -SE host_init.py NAME OWN_DIRECTORY HIDDEN_DIRECTORY...`; prints "ready".
"""

import os
import signal
import socket
import subprocess
import sys


def main() -> None:
    name, own, *hidden = sys.argv[1:]
    socket.sethostname(name)
    aside = os.path.join(os.path.dirname(os.path.dirname(own)), "own")
    mount("--bind", own, aside)
    for directory in hidden:
        mount("-t", "tmpfs", "-o", "mode=755", "hidden", directory)
    os.makedirs(own)
    mount("--bind", aside, own)
    subprocess.run(["umount", aside], check=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    print("ready", flush=True)
    while True:
        signal.sigtimedwait({signal.SIGCHLD}, 1.0)
        reap()


def mount(*args: str) -> None:
    subprocess.run(["mount", *args], check=True)


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


if __name__ == "__main__":
    main()

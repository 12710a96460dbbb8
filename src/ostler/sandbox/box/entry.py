"""The first program inside a sandbox: opens the ports of the proxy, sets limits, and starts the command.

It runs as `python -I -S -c SOURCE` with only builtin modules, because its start delays every agent. Its
arguments: CONTROL PORTS LIMITS PROGRAM ARGUMENT... CONTROL is a descriptor or the path of a Unix socket that
receives each listening socket, or "-". PORTS are separated by commas, and so are LIMITS (NAME=VALUE).
"""

from __future__ import annotations

SOURCE = r"""
import posix, sys
control, ports, limits = sys.argv[1:4]
argv = sys.argv[4:]

def fail(text):
    posix.write(2, ("ostler: " + text + "\n").encode())
    posix._exit(126)

if control != "-":
    import _socket
    try:
        if control.isdigit():
            peer = _socket.socket(fileno=int(control))
        else:
            peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            peer.connect(control)
        for port in ports.split(","):
            listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
            listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", int(port)))
            listener.listen(128)
            right = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, listener.fileno().to_bytes(4, sys.byteorder))
            peer.sendmsg([port.encode() + b"\n"], [right])
            listener.close()
        peer.close()
    except OSError as error:
        fail("the ports of the proxy cannot be opened: %s" % error)
if limits != "-":
    import resource
    for one in limits.split(","):
        name, _, value = one.partition("=")
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        number = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        try:
            resource.setrlimit(kind, (number, number))
        except (OSError, ValueError) as error:
            fail("the limit %s cannot be set: %s" % (name, error))
import _signal
for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGPIPE, _signal.SIGXFSZ):
    _signal.signal(number, _signal.SIG_DFL)
name, error = argv[0], None
path = posix.environ.get(b"PATH", b"/usr/bin:/bin").decode("utf-8", "surrogateescape")
folders = [""] if "/" in name else path.split(":")
for folder in folders:
    try:
        posix.execv((folder + "/" if folder else "") + name, argv)
    except OSError as found:
        error = found if error is None or found.errno != 2 else error
posix.write(2, ("ostler: %s: %s\n" % (name, error.strerror)).encode("utf-8", "surrogateescape"))
posix._exit(127 if error.errno == 2 else 126)
"""

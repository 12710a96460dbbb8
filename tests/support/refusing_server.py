"""A server that answers each gRPC call with one status, over plain TCP or TLS; and certificates for it."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

_PREFACE = 24  # bytes with which each HTTP/2 client begins
_HEADERS, _SETTINGS, _PING = 1, 4, 6
_ACK, _LAST = 0x1, 0x5  # END_STREAM and END_HEADERS
_STATUS_200 = b"\x88"


class RefusingServer:
    """Refuses each call with a gRPC status, such as 16 for a wrong API key; `tls` is the server's context."""

    def __init__(self, status: int, tls: ssl.SSLContext | None = None) -> None:
        self._status = status
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        if tls is not None:
            tls.set_alpn_protocols(["h2"])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            peer = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
            stream = peer.makefile("rb")
            if not stream.read(_PREFACE).startswith(b"PRI * HTTP/2.0"):
                return  # as a server that speaks something else does
            peer.sendall(_frame(_SETTINGS, 0, 0, b""))
            while len(head := stream.read(9)) == 9:
                kind, flags, number = head[3], head[4], int.from_bytes(head[5:], "big")
                body = stream.read(int.from_bytes(head[:3], "big"))
                if kind in (_SETTINGS, _PING) and not flags & _ACK:
                    peer.sendall(_frame(kind, _ACK, 0, body if kind == _PING else b""))
                elif kind == _HEADERS:
                    peer.sendall(_frame(_HEADERS, _LAST, number, self._answer()))

    def _answer(self) -> bytes:
        fields = {"content-type": "application/grpc", "grpc-status": str(self._status), "grpc-message": "no"}
        words = (word.encode() for pair in fields.items() for word in pair)
        packed = [bytes([len(word)]) + word for word in words]
        return _STATUS_200 + b"".join(
            b"\0" + name + value for name, value in zip(packed[::2], packed[1::2], strict=True)
        )


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


class Certificates:
    """An authority of its own, and certificates that it signed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.authority = directory / "ca.pem"
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority"),
        )

    def context(
        self, name: str = "IP:127.0.0.1", *, days: int = 2, asks_client: bool = False
    ) -> ssl.SSLContext:
        """Return the context of a server with a certificate for this name."""
        certificate, key = self.sign(name, days=days)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if asks_client:
            context.load_verify_locations(self.authority)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def sign(self, name: str = "IP:127.0.0.1", *, days: int = 2) -> tuple[Path, Path]:
        """Return the files of a new certificate and its key; with negative days it has expired."""
        (self._directory / "san.txt").write_text(f"subjectAltName={name}\nbasicConstraints=CA:FALSE\n")
        self._openssl(
            *("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=leaf"),
        )
        self._openssl(
            *("x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-out", "leaf.pem", "-days", str(days), "-extfile", "san.txt"),
        )
        return self._directory / "leaf.pem", self._directory / "leaf.key"

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._directory, check=True, capture_output=True, timeout=30)

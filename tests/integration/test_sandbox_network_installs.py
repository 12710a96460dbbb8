"""Real pip and npm install through the proxy of a sandbox, and real TLS is checked."""

from __future__ import annotations

import asyncio
import base64
import datetime
import hashlib
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ostler.sandbox.network.policy import ModelRoute
from proxy_world import Origin, ProxyWorld, open_proxy, serve
from wheels import make_npm_archive, make_wheel


@asynccontextmanager
async def serve_files(files: Mapping[str, tuple[str, bytes]], tls: Path | None = None) -> AsyncIterator[int]:
    """Serve files by path, each with its type, over several requests per connection."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ")[1].decode()
                kind, body = files.get(path, ("text/plain", b"not here"))
                status = "200 OK" if path in files else "404 Not Found"
                lines = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(lines.encode() + body)
        except (OSError, EOFError):
            writer.close()

    context = None
    if tls is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tls)
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def make_certificate(folder: Path) -> Path:
    """Write a certificate for localhost and model.example with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.DNSName("model.example")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


async def run_program(world: ProxyWorld, folder: Path, *argv: str, **more: str) -> tuple[int, str]:
    """Run a program with the proxy in its environment, also for this machine."""
    url = f"http://127.0.0.1:{world.port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=folder,
        env={**kept, **dict.fromkeys(names, url), **more},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


def python_index(folder: Path) -> dict[str, tuple[str, bytes]]:
    wheel = make_wheel(folder / "wheels", "thing", "VALUE = 42")
    page = f'<a href="/files/{wheel.name}">{wheel.name}</a>'.encode()
    return {
        "/simple/thing/": ("text/html", page),
        f"/files/{wheel.name}": ("application/zip", wheel.read_bytes()),
    }


def pip(index: str, *more: str) -> tuple[str, ...]:
    options = ("--no-deps", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--retries", "1")
    return (
        sys.executable,
        "-m",
        "pip",
        "download",
        *options,
        "-d",
        "out",
        "--index-url",
        index,
        *more,
        "thing",
    )


@pytest.mark.parametrize(
    "tls", [pytest.param(False, id="plain HTTP", marks=pytest.mark.full), pytest.param(True, id="CONNECT")]
)
def test_pip_downloads_from_an_allowed_index(tmp_path: Path, tls: bool) -> None:
    """pip gets a package through the proxy, over HTTP and in a tunnel."""
    certificate = make_certificate(tmp_path) if tls else None

    async def run() -> None:
        async with serve_files(python_index(tmp_path), certificate) as port:
            async with open_proxy(f"localhost:{port}") as world:
                index = f"{'https' if tls else 'http'}://localhost:{port}/simple/"
                trust = ("--cert", str(certificate)) if tls else ()
                code, output = await run_program(world, tmp_path, *pip(index, *trust))
            assert code == 0, output
            assert len(list((tmp_path / "out").glob("thing-*.whl"))) == 1 and world.refusals == []

    asyncio.run(run())


def test_pip_shows_the_setting_of_a_refused_index(tmp_path: Path) -> None:
    """The output of pip has the sentence with the setting, which a person or the agent can read."""

    async def run() -> None:
        async with open_proxy() as world:
            code, output = await run_program(world, tmp_path, *pip("https://index.example/simple/"))
        assert code != 0 and 'sandbox.allow_hosts = ["index.example"]' in output
        assert [refusal.target for refusal in world.refusals] == ["index.example:443"]

    asyncio.run(run())


def test_npm_installs_from_an_allowed_registry(tmp_path: Path) -> None:
    """npm installs a package through the proxy."""
    archive = tmp_path / "thing-1.0.0.tgz"
    make_npm_archive(archive, "thing", "module.exports = 42")
    data = archive.read_bytes()
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    (tmp_path / "package.json").write_text('{"name": "user", "version": "1.0.0"}')

    async def run() -> None:
        files: dict[str, tuple[str, bytes]] = {"/thing/-/thing-1.0.0.tgz": ("application/gzip", data)}
        async with serve_files(files) as port, open_proxy(f"localhost:{port}") as world:
            registry = f"http://localhost:{port}/"
            dist = {"tarball": f"{registry}thing/-/thing-1.0.0.tgz", "integrity": f"sha512-{digest}"}
            version = {"name": "thing", "version": "1.0.0", "dist": dist}
            document = {"name": "thing", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
            files["/thing"] = ("application/json", json.dumps(document).encode())
            options = ("--registry", registry, "--no-audit", "--no-fund", "--no-update-notifier")
            code, output = await run_program(world, tmp_path, "npm", "install", "thing", *options)
        assert code == 0, output
        assert (tmp_path / "node_modules" / "thing" / "index.js").exists() and world.refusals == []

    asyncio.run(run())


def test_certificate_of_the_model_is_checked(tmp_path: Path) -> None:
    """A call passes with SSL_CERT_FILE; without it, the answer names the certificate and no key is sent."""
    certificate = make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    async def run() -> None:
        origin = Origin()
        server = await asyncio.start_server(origin, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        route = ModelRoute(f"https://localhost:{port}", ("/v1/messages",), lambda: {"x-api-key": "real"})
        for variable in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
            async with open_proxy(model=route, environ={variable: str(certificate)}) as world:
                assert (await world.ask("/v1/messages", method="POST", body=b"{}")).endswith(b"ok")
        assert len(origin.received) == 2 and b"x-api-key: real" in origin.received[0]
        async with open_proxy(model=route) as world:
            answer = await world.ask("/v1/messages", method="POST", body=b"{}")
        assert answer.startswith(b"HTTP/1.1 502 ") and b"its certificate is not valid" in answer
        assert len(origin.received) == 2
        server.close()

    asyncio.run(run())


def test_model_through_the_proxy_of_the_company(tmp_path: Path) -> None:
    """With HTTPS_PROXY outside, the call goes through its tunnel, and TLS ends at the model's server."""
    certificate = make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    asked: list[bytes] = []

    async def company(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(9999):
                target.write(data)
            target.close()

        await asyncio.gather(copy(reader, server_writer), copy(server_reader, writer), return_exceptions=True)

    async def run() -> None:
        nonlocal port
        server = await asyncio.start_server(Origin(), "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        # The name of the server has no address here: only the proxy of the company resolves it.
        route = ModelRoute("https://model.example", ("/v1/messages",), dict)
        async with serve(company) as proxy_port:
            environ = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy_port}", "SSL_CERT_FILE": str(certificate)}
            async with open_proxy(model=route, environ=environ) as world:
                answer = await world.ask("/v1/messages")
        assert asked and asked[0].startswith(b"CONNECT model.example:443 HTTP/1.1\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"ok"), answer
        server.close()

    port = 0
    asyncio.run(run())

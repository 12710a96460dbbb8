"""A real S3 server: seaweedfs."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Self

from servers.program import ServerProgram, accepts_connections, find_free_ports

PROGRAM = Path(sys.executable).with_name("weed")
KEY, SECRET = "test-key", "test-secret"


class S3Server:
    """An S3 server with one account and without buckets."""

    def __init__(self, directory: Path, host: str = "127.0.0.1") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        names = ("master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc", "s3", "s3.grpc")
        ports = dict(zip(names, find_free_ports(len(names), host), strict=True))
        roles = ("master", "volume", "filer", "s3")
        # It makes these at this place, without an option, and leaves them.
        self._sockets = [Path(f"/tmp/seaweedfs-{role}-grpc-{ports[f'{role}.grpc']}.sock") for role in roles]
        self.endpoint = f"http://{host}:{ports['s3']}"
        account = {
            "name": "test",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        config = directory / "s3.json"
        config.write_text(json.dumps({"identities": [account]}))
        port_options = []
        for name in roles:
            port_options += [f"-{name}.port={ports[name]}", f"-{name}.port.grpc={ports[name + '.grpc']}"]
        self.program = ServerProgram(
            [
                *(PROGRAM, "server", f"-dir={directory}", f"-ip={host}", f"-ip.bind={host}", "-s3"),
                *("-master.volumeSizeLimitMB=64", "-volume.max=20", f"-s3.config={config}", *port_options),
                *("-s3.port.iceberg=0", "-s3.port.lance=0"),
                *(f"-{name}.localSocket={directory}/{name}.sock" for name in ("filer", "s3")),
            ],
            directory / "weed.log",
            lambda: accepts_connections(host, ports["s3"]),
            env={"HOME": str(directory), "PATH": os.environ["PATH"]},
            stop_signal=signal.SIGKILL,  # it takes longer than ten seconds to end in an orderly way
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables with the account, for clients."""
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}

    def start(self) -> Self:
        self.program.start()
        return self

    def close(self) -> None:
        self.program.stop()
        for place in self._sockets:
            place.unlink(missing_ok=True)

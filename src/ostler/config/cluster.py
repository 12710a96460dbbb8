"""The settings of a cluster: several machines that run the tasks of one project."""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

from typing import Annotated, Literal

from msgspec import Meta, Struct

_QUEUE = 'name of letters, digits, "-" and "_"'
_SCHEMA = 'name of lower-case letters, digits and "_"'
_STORE = '"sqlite" or "postgresql://HOST/NAME"'
_BLOBS = '"file:///DIRECTORY" or "s3://BUCKET/PREFIX"'
_Word = Annotated[str, Meta(min_length=1)]
_QueueName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z", title=_QUEUE)]
AtLeastOneSecond = Annotated[float, Meta(ge=1)]


class EngineSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[engine]: what runs the tasks: this machine, or workers that share a Temporal server"""

    kind: Literal["local", "temporal"] = "local"  # temporal: workers on several machines; needs store.url
    address: _Word = "127.0.0.1:7233"  # HOST:PORT of the Temporal server
    namespace: _Word = "default"  # Temporal namespace
    queue: _QueueName = "ostler"  # first part of the names of the task queues that workers poll
    # How long a worker may be silent before another one takes over its tasks
    heartbeat_seconds: AtLeastOneSecond = 10.0
    tls: bool = False  # connect with TLS; also set by the keys below
    tls_ca: str = ""  # file with the certificate of the server's authority; empty: those of the system
    tls_cert: str = ""  # file with the client certificate
    tls_key: str = ""  # file with the key of the client certificate
    # Variable with the API key of a hosted server; empty: TEMPORAL_API_KEY, if it is set
    api_key_env: str = ""
    remote: _Word = "origin"  # git remote through which the work of a task moves between machines
    shared_root: bool = False  # true: all workers use one shared project directory

    @property
    def api_key_variable(self) -> str:
        """The variable that the API key is read from."""
        return self.api_key_env or "TEMPORAL_API_KEY"

    @property
    def moves_tasks(self) -> bool:
        """Whether a task can go on at a host that does not have its files."""
        return self.kind == "temporal" and not self.shared_root


class StoreSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[store]: where the journal is"""

    # sqlite: a file of this machine; or postgresql://HOST/NAME
    url: Annotated[str, Meta(pattern=r"^(sqlite|postgres(ql)?://.+)\Z", title=_STORE)] = "sqlite"
    # PostgreSQL schema with the tables of this project; another project in the database needs another one
    schema: Annotated[str, Meta(pattern=r"^[a-z_][a-z0-9_]{0,62}\Z", title=_SCHEMA)] = "ostler"


class BlobsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[blobs]: where the files of the tasks are kept for other machines, such as transcripts"""

    # file:///DIRECTORY or s3://BUCKET/PREFIX; empty: only on the machine that wrote them
    url: Annotated[str, Meta(pattern=r"^((file|s3)://.+)?\Z", title=_BLOBS)] = ""
    endpoint: str = ""  # URL of a server that speaks the S3 protocol; empty: Amazon S3
    region: str = ""  # empty: AWS_REGION, or us-east-1

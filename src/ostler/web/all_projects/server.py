"""The server of all projects: one port, one token and one list of logged-in browsers."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from threading import Thread

from ostler.files.user_state import require_user_state
from ostler.web.address import FILE_NAME, ServerAddress, remove_address, write_address
from ostler.web.all_projects.application import make_host_application
from ostler.web.all_projects.host import ProjectHost
from ostler.web.all_projects.hosted import HostOptions
from ostler.web.browser_sessions import FILE_NAME as SESSIONS_FILE
from ostler.web.browser_sessions import BrowserSessions
from ostler.web.keys import Keys
from ostler.web.server import ServerThread
from ostler.web.site import Site


class AllProjectsServer:
    """Serves from its creation until it is closed; `host.run` follows the projects."""

    def __init__(
        self,
        listening_socket: socket.socket,
        environ: Mapping[str, str],
        flags: Mapping[str, object],
        print_message: Callable[[str], None],
        *,
        view_only: bool,
    ) -> None:
        state = require_user_state(environ)
        self._file = state / FILE_NAME
        host, port = listening_socket.getsockname()[:2]
        keys = Keys(BrowserSessions(state / SESSIONS_FILE))
        self._address = ServerAddress(os.getpid(), host, port, keys.token, not view_only)
        options = HostOptions(
            self._address.url, keys, environ, flags, view_only, print_message, self._close_site
        )
        self.host = ProjectHost(options)
        write_address(self._file, self._address)
        self._thread = ServerThread(
            make_host_application(self.host, port), listening_socket, self._end_streams
        )

    def close(self) -> None:
        """End all streams, release the port and close the projects."""
        self._thread.close()
        for site in self.host.sites().values():
            site.close()
        for hosted in self.host.projects.values():
            hosted.release()
        remove_address(self._file, self._address)

    def _end_streams(self) -> None:
        for site in self.host.sites().values():
            site.broadcaster.close()

    def _close_site(self, site: Site) -> None:
        """Close the site of a project that left; its running requests are not waited for."""
        self._thread.call_soon(site.broadcaster.close)
        Thread(target=site.close, name="web-close").start()

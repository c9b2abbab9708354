"""The bubblewrap command line: a root built from an allow-list, the workspace as an overlay, protected paths on top."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crucible.errors import SandboxError
from crucible.world.types import Limits

WORKSPACE = "/workspace"
OURS = "/opt/crucible"
"""Where the sandbox sees what belongs to the harness."""
HOME = "/home/agent"
IN_MEMORY = ("/tmp", HOME, "/dev/shm")  # noqa: S108 (inside, and private)
"""Folders that lie in memory and that everything inside can write."""
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
_USER_ID = "1000"
_OWN_FOLDERS = (WORKSPACE, OURS, *IN_MEMORY, "/dev", "/proc", "/etc/passwd")
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "pki/tls/certs",
    "pki/ca-trust",
    "ssl/certs",
    "ssl/openssl.cnf",
)
_OWN_ETC = {
    "passwd": f"root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:{_USER_ID}:{_USER_ID}:agent:{HOME}:/bin/bash\n",
    "group": f"root:x:0:\nagent:x:{_USER_ID}:\n",
    "hosts": "127.0.0.1 localhost crucible\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a sandbox is made of. `upper` takes every write; `read_only`, `writable`: host paths and paths inside."""

    lower: Path
    upper: Path
    work: Path
    etc: Path
    protected: tuple[str, ...] = ()
    read_only: tuple[tuple[Path, str], ...] = ()
    writable: tuple[tuple[Path, str], ...] = ()
    path: tuple[str, ...] = ()
    network: bool = False
    memory_bytes: int = Limits().memory_bytes

    def prepare(self) -> None:
        """Make the folders and the small files of /etc that the arguments name. Raises OSError."""
        for folder in (self.upper, self.work, self.etc):
            folder.mkdir(parents=True)
        for name, text in _OWN_ETC.items():
            (self.etc / name).write_text(text)

    def arguments(self) -> list[str]:
        """Everything between `bwrap` and the command. Later mounts lie on top of earlier ones."""
        return [
            *_isolation(network=self.network),
            *_environment(environment([*self.path, *SYSTEM_PATH])),
            *_system(),
            *self._etc(),
            *("--proc", "/proc", "--dev", "/dev"),
            *self._in_memory(),
            *_binds("--ro-bind", self.read_only),
            *("--overlay-src", str(self.lower), "--overlay", str(self.upper), str(self.work), WORKSPACE),
            *_binds("--ro-bind", [(self.lower / path, f"{WORKSPACE}/{path}") for path in self.protected]),
            *_binds("--bind", self.writable),
            *("--remount-ro", "/", "--chdir", WORKSPACE),
        ]

    def _in_memory(self) -> Iterator[str]:
        """A quarter of the memory each, so that when they are full processes can still be had to empty them."""
        for folder in IN_MEMORY:
            mode = "0755" if folder == HOME else "1777"
            yield from ("--perms", mode, "--size", str(self.memory_bytes // 4), "--tmpfs", folder)
        yield from ("--remount-ro", "/dev")  # itself in memory, and its owner could write it

    def _etc(self) -> Iterator[str]:
        yield from _binds("--ro-bind", [(self.etc / name, f"/etc/{name}") for name in _OWN_ETC])
        java = [folder.name for folder in Path("/etc").glob("java-*-openjdk")]  # Debian's, without which none starts
        shared = [*_ETC, *java, *(["resolv.conf"] if self.network else [])]
        yield from _binds("--ro-bind", [(Path("/etc", n), f"/etc/{n}") for n in shared if Path("/etc", n).exists()])


def environment(path: Iterable[str], *, home: str = HOME, temporary: str = "/tmp") -> dict[str, str]:  # noqa: S108 (inside)
    """The whole environment of everything an agent runs: no key, no pager, no colour, no editor, no prompt."""
    return {
        "PATH": ":".join(path),
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PIP_NO_INPUT": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }


def _isolation(*, network: bool) -> list[str]:
    """As process 1 the toolbox cannot be signalled from inside, and with it everything else ends.

    No further user namespace: in one, anybody can mount memory that no limit of ours sees.
    """
    return [
        *("--unshare-all", "--unshare-user", "--disable-userns"),
        *(["--share-net"] if network else []),
        *("--uid", _USER_ID, "--gid", _USER_ID, "--hostname", "crucible"),
        *("--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
    ]


def _environment(variables: Mapping[str, str]) -> list[str]:
    return ["--clearenv", *(word for item in variables.items() for word in ("--setenv", *item))]


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM_FOLDERS:
        folder = Path("/", name)
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))


def _binds(option: str, pairs: Iterable[tuple[Path, str]]) -> Iterator[str]:
    for source, seen_as in pairs:
        yield from (option, str(source), seen_as)


def shown_at_their_own(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    """Host paths as `read_only` of a sandbox: each once, without what is visible in every sandbox or below another.

    Raises SandboxError for one that would take the place of the sandbox's own folders, or be hidden by them.
    """
    wanted = dict.fromkeys(path.absolute() for path in paths)
    for path in wanted:
        if path.is_relative_to(WORKSPACE) or any(Path(own).is_relative_to(path) for own in _OWN_FOLDERS):
            raise SandboxError(f"{path} cannot be shown in the sandbox, which has a place of its own there")
    outer = [path for path in wanted if not is_in_system(path) and wanted.keys().isdisjoint(path.parents)]
    return [(path, str(path)) for path in outer]


def is_in_system(path: Path) -> bool:
    """Whether a host path is visible in every sandbox already."""
    return path.is_relative_to("/usr") or path.parts[1:2] in [(name,) for name in _SYSTEM_FOLDERS]


def descriptor_of(arguments: Iterable[str]) -> int:
    """Arguments as an open file for `bwrap --args`: on a command line they would be seen from inside and out."""
    fd = os.memfd_create("bwrap-arguments")
    with os.fdopen(fd, "wb", closefd=False) as file:
        file.write(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))
    os.lseek(fd, 0, os.SEEK_SET)
    return fd

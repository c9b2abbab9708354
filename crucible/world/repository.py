"""The workspace's own .git: one root commit made by us, and nothing that knows where the files came from."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from crucible.errors import HarnessError
from crucible.world.fixture import GIT_ENVIRONMENT

MOMENT = 1577836800
"""2020-01-01T00:00:00Z in seconds: the date of the commit and of every file, so that snapshots are reproducible."""
_AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Crucible"), ("EMAIL", "crucible@localhost"), ("DATE", f"{MOMENT} +0000"))
}
_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tcheckStat = minimal
\ttrustctime = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[user]
\tname = agent
\temail = agent@localhost
"""
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding\n"
"""What is checked out is what was committed, byte for byte, whatever the fixture's .gitattributes say."""
_QUIET = ("-c", "core.logAllRefUpdates=false", "-c", "core.compression=1", "-c", "core.protectNTFS=false")


def make_repository(tree: Path) -> None:
    """Commit everything in `tree`, ignored files too, as the only commit of a new repository. Raises HarnessError."""
    _git(tree, "init", "--quiet", "--template=", "--initial-branch=main")
    (tree / ".git" / "config").write_text(_CONFIG)
    info = tree / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text(_ATTRIBUTES)
    _git(tree, "add", "--all", "--force", ".")
    _git(tree, "commit", "--quiet", "--allow-empty", "--no-verify", "--message=Workspace")
    _git(tree, "repack", "-a", "-d", "--quiet")
    (tree / ".git" / "COMMIT_EDITMSG").unlink(missing_ok=True)


def _git(tree: Path, *arguments: str) -> None:
    found = shutil.which("git")
    if found is None:
        raise HarnessError("git is not on PATH", hint="install git with your system's package manager")
    environment = {**GIT_ENVIRONMENT, **_AUTHOR, "PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    command = [found, *_QUIET, *arguments]
    done = subprocess.run(
        command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise HarnessError(f"git {arguments[0]} failed in {tree}: {said}")

"""`crucible ui` where it cannot start: one line that says what is wrong and one what to do, and the exit code of its kind."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from crucible.store.writes import Store
from tests.conftest import environment


@pytest.fixture(autouse=True)
def bench(tmp_path: Path) -> None:
    """Every folder is a bench."""
    (tmp_path / "crucible.toml").touch()


def ui(folder: Path, store: Path, *options: str) -> tuple[int, list[str]]:
    """Start it, and wait for it to give up: the exit code and what it said."""
    command = [sys.executable, "-m", "crucible", "--store", str(store), "ui", *options]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in done.stderr
    return done.returncode, [line for line in done.stderr.splitlines() if line.strip()]


def test_a_port_in_use_is_named_with_another_one(tmp_path: Path) -> None:
    Store(tmp_path / "store.db").close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = ui(tmp_path, tmp_path / "store.db", "--port", str(port))
    assert (2, f"port {port} of 127.0.0.1 is in use", 2) == (code, said[0], len(said))
    assert "--port" in said[1]


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    code, said = ui(tmp_path, tmp_path / "none.db", "--port", "0")
    assert 2 == code
    assert "none.db" in said[0]
    assert said[0].endswith(": nothing has been stored yet")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.slow
def test_a_store_of_a_newer_version_says_to_upgrade(tmp_path: Path) -> None:
    Store(tmp_path / "store.db").close()
    with sqlite3.connect(tmp_path / "store.db") as newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    newer.close()
    code, said = ui(tmp_path, tmp_path / "store.db", "--port", "0")
    assert 5 == code
    assert "version 9999" in said[0]
    assert "newer than this Crucible knows" in said[0]
    assert "upgrade Crucible" in " ".join(said)


@pytest.mark.slow
def test_a_file_that_is_no_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be looked at as one\n" * 40)
    code, said = ui(tmp_path, tmp_path / "notes.txt", "--port", "0")
    assert (5, True) == (code, "notes.txt" in said[0])


@pytest.mark.slow
def test_a_store_that_another_process_holds_says_to_wait(tmp_path: Path) -> None:
    Store(tmp_path / "store.db").close()
    holder = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    try:
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        code, said = ui(tmp_path, tmp_path / "store.db", "--port", "0")
    finally:
        holder.close()
    assert 5 == code
    assert "locked" in said[0]
    assert "wait for it" in " ".join(said)


@pytest.mark.slow
def test_an_address_of_another_machine_cannot_be_listened_on(tmp_path: Path) -> None:
    Store(tmp_path / "store.db").close()
    code, said = ui(tmp_path, tmp_path / "store.db", "--host", "192.0.2.1", "--port", "0")
    assert (2, True) == (code, "192.0.2.1" in said[0])

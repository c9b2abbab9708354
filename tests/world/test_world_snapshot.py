"""Freezing a fixture: what is kept, left out and refused, and that nothing is written where it came from."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
from pathlib import Path

import pytest

from crucible.errors import FixtureError
from crucible.world.snapshot import take_snapshot

GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@a",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@a",
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, env=GIT, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def hashes(folder: Path) -> dict[str, str]:
    """Every file's hash, mode and time below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        status = path.lstat()
        found[str(path)] = f"{status.st_mode} {status.st_mtime_ns} {hashlib.sha256(data).hexdigest()}"
    return found


def test_a_snapshot_holds_the_files_of_the_fixture_byte_for_byte(fixture_folder: Path, tmp_path: Path) -> None:
    snapshot = take_snapshot(fixture_folder, tmp_path / "cache")
    kept = {path: (snapshot.root / path).read_bytes() for path in snapshot.files}
    assert kept == {path: (fixture_folder / path).read_bytes() for path in kept}
    assert sorted(snapshot.files) == list(snapshot.files)
    assert "link.py" in snapshot.files
    assert Path("src/price.py") == (snapshot.root / "link.py").readlink()
    assert snapshot.cache == tmp_path / "cache"


def test_executable_bits_are_kept_and_nothing_else_of_the_modes(fixture_folder: Path, tmp_path: Path) -> None:
    (fixture_folder / "README.md").chmod(0o606)
    root = take_snapshot(fixture_folder, tmp_path / "cache").root
    assert oct(0o755) == oct((root / "run.sh").stat().st_mode & 0o777)
    assert oct(0o644) == oct((root / "README.md").stat().st_mode & 0o777)


def test_empty_folders_are_kept(fixture_folder: Path, tmp_path: Path) -> None:
    (fixture_folder / "logs").mkdir()
    assert (take_snapshot(fixture_folder, tmp_path / "cache").root / "logs").is_dir()


def test_nothing_is_written_inside_the_fixture(fixture_folder: Path, tmp_path: Path) -> None:
    before = hashes(fixture_folder)
    take_snapshot(fixture_folder, tmp_path / "cache")
    assert before == hashes(fixture_folder)


def test_repositories_and_caches_are_left_out_at_any_depth(fixture_folder: Path, tmp_path: Path) -> None:
    git(fixture_folder, "init", "-q")
    for junk in ("src/__pycache__/a.cpython-311.pyc", ".pytest_cache/v", "src/b.pyc", "src/.git/objects/x"):
        (fixture_folder / junk).parent.mkdir(parents=True, exist_ok=True)
        (fixture_folder / junk).write_bytes(b"secret")
    snapshot = take_snapshot(fixture_folder, tmp_path / "cache")
    assert [path for path in snapshot.files if "git/" in path or "cache" in path or path.endswith(".pyc")] == []
    assert not (snapshot.root / "src/.git").exists()


def test_the_workspace_repository_has_one_root_commit_and_nothing_else(fixture_folder: Path, tmp_path: Path) -> None:
    git(fixture_folder, "init", "-q")
    git(fixture_folder, "add", ".")
    git(fixture_folder, "commit", "-q", "-m", "the fix is in here")
    git(fixture_folder, "tag", "v1")
    root = take_snapshot(fixture_folder, tmp_path / "cache").root
    assert git(root, "rev-list", "--all", "--count") == "1"
    assert git(root, "log", "--all", "--format=%an|%s|%at|%P") == "Crucible|Workspace|1577836800|"
    assert git(root, "status", "--porcelain", "--ignored") == ""
    assert (
        git(root, "remote") + git(root, "tag") + git(root, "reflog", "--all") + git(root, "fsck", "--unreachable") == ""
    )
    assert {"HEAD", "config", "index", "info", "objects", "refs"} == {p.name for p in (root / ".git").iterdir()}
    objects = git(root, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert objects.count("commit") == 1


def test_ignored_files_are_in_the_root_commit_and_line_endings_survive_a_checkout(
    fixture_folder: Path, tmp_path: Path
) -> None:
    (fixture_folder / "a.log").write_bytes(b"log\n")
    (fixture_folder / ".gitattributes").write_bytes(b"* text=auto eol=lf\n*.bin filter=evil\n")
    (fixture_folder / "x.bin").write_bytes(b"\r\n\0")
    root = take_snapshot(fixture_folder, tmp_path / "cache").root
    assert "a.log" in git(root, "ls-files").split()
    git(root, "rm", "-rq", "--cached", ".")
    git(root, "checkout", "-q", "--force", "HEAD", "--", ".")
    assert (root / "src/crlf.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert (root / "x.bin").read_bytes() == b"\r\n\0"


def test_the_same_content_is_the_same_snapshot_wherever_it_lies(fixture_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["cp", "-r", str(fixture_folder), str(other)], check=True)
    first = take_snapshot(fixture_folder, tmp_path / "cache")
    assert first == take_snapshot(other, tmp_path / "cache")
    assert git(first.root, "rev-parse", "HEAD") == git(take_snapshot(other, tmp_path / "c2").root, "rev-parse", "HEAD")


@pytest.mark.parametrize("edit", ["content", "mode", "name", "link"])
def test_any_difference_in_content_is_another_snapshot(edit: str, fixture_folder: Path, tmp_path: Path) -> None:
    first = take_snapshot(fixture_folder, tmp_path / "cache").digest
    if edit == "content":
        (fixture_folder / "README.md").write_bytes(b"# Shoq\n")
    elif edit == "mode":
        (fixture_folder / "README.md").chmod(0o755)
    elif edit == "name":
        (fixture_folder / "README.md").rename(fixture_folder / "README")
    else:
        (fixture_folder / "link.py").unlink()
        (fixture_folder / "link.py").symlink_to("src/crlf.txt")
    assert first != take_snapshot(fixture_folder, tmp_path / "cache").digest


def _edit(root: Path) -> None:
    (root / "README.md").write_bytes(b"# Shoq\n")


def _delete(root: Path) -> None:
    (root / "src/price.py").unlink()


def _add(root: Path) -> None:
    (root / "src/new.py").write_bytes(b"")


def _break_git(root: Path) -> None:
    (root / ".git/HEAD").write_bytes(b"ref: refs/heads/evil\n")


def _half(root: Path) -> None:
    (root.parent / "manifest.json").write_bytes(b'{"half')


@pytest.mark.parametrize("damage", [_edit, _delete, _add, _break_git, _half])
def test_a_damaged_cached_snapshot_is_built_anew(damage, fixture_folder: Path, tmp_path: Path) -> None:
    first = take_snapshot(fixture_folder, tmp_path / "cache")
    whole = hashes(first.root / "src")
    damage(first.root)
    again = take_snapshot(fixture_folder, tmp_path / "cache")
    assert first == again
    assert whole == hashes(again.root / "src")
    assert (again.root / ".git/HEAD").read_bytes() == b"ref: refs/heads/main\n"
    assert [again.digest] == [p.name for p in (tmp_path / "cache/snapshots").iterdir()]


def test_a_whole_cached_snapshot_is_used_as_it_is(fixture_folder: Path, tmp_path: Path) -> None:
    first = take_snapshot(fixture_folder, tmp_path / "cache")
    inode = first.root.stat().st_ino
    assert inode == take_snapshot(fixture_folder, tmp_path / "cache").root.stat().st_ino


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "src/../../outside", "src/up/fixture"])
def test_a_link_that_leads_outside_is_refused_by_name(target: str, fixture_folder: Path, tmp_path: Path) -> None:
    (fixture_folder / "src/up").symlink_to("..")
    (fixture_folder / "bad").symlink_to(target.replace("src/up/fixture", "src/up/../fixture/README.md"))
    with pytest.raises(FixtureError, match=r"fixture/bad: a link that points outside"):
        take_snapshot(fixture_folder, tmp_path / "cache")
    assert list((tmp_path / "cache/snapshots").iterdir()) == []


def test_a_link_within_the_fixture_may_dangle(fixture_folder: Path, tmp_path: Path) -> None:
    (fixture_folder / "src/dangling").symlink_to("../nowhere")
    assert "src/dangling" in take_snapshot(fixture_folder, tmp_path / "cache").files


def test_a_socket_or_a_pipe_is_refused_by_name(fixture_folder: Path, tmp_path: Path) -> None:
    os.mkfifo(fixture_folder / "pipe")
    with pytest.raises(FixtureError, match="fixture/pipe: neither a file"):
        take_snapshot(fixture_folder, tmp_path / "cache")
    (fixture_folder / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(fixture_folder / "sock"))
        with pytest.raises(FixtureError, match="fixture/sock: neither a file"):
            take_snapshot(fixture_folder, tmp_path / "cache")


def test_names_that_are_not_text_are_kept(fixture_folder: Path, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(fixture_folder) + b'/caf\xe9 \n"x\\')).write_bytes(b"x")
    snapshot = take_snapshot(fixture_folder, tmp_path / "cache")
    assert 'caf\udce9 \n"x\\' in snapshot.files
    assert git(snapshot.root, "status", "--porcelain") == ""


def test_a_missing_fixture_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match="nowhere: the fixture is not a folder"):
        take_snapshot(tmp_path / "nowhere", tmp_path / "cache")


@pytest.fixture
def repository(fixture_folder: Path) -> Path:
    git(fixture_folder, "init", "-q", "-b", "main")
    git(fixture_folder, "add", ".")
    git(fixture_folder, "commit", "-q", "-m", "broken")
    git(fixture_folder, "tag", "broken")
    (fixture_folder / "src/price.py").write_bytes(b"def price(n):\n    return n * 3\n")
    (fixture_folder / "later.py").write_bytes(b"LATER\n")
    git(fixture_folder, "add", ".")
    git(fixture_folder, "commit", "-q", "-m", "the fix")
    return fixture_folder


@pytest.mark.parametrize("ref", ["broken", "HEAD~1", "main^"])
def test_a_ref_takes_the_files_of_that_commit_without_its_history(ref: str, repository: Path, tmp_path: Path) -> None:
    (repository / "uncommitted.py").write_bytes(b"")
    before = hashes(repository)
    snapshot = take_snapshot(repository, tmp_path / "cache", ref)
    assert before == hashes(repository)
    assert (snapshot.root / "src/price.py").read_bytes() == b"def price(n):\n    return n * 2\n"
    assert not {"later.py", "uncommitted.py"} & set(snapshot.files)
    assert Path("src/price.py") == (snapshot.root / "link.py").readlink()
    assert os.access(snapshot.root / "run.sh", os.X_OK)
    assert git(snapshot.root, "rev-list", "--all", "--count") == "1"


def test_a_commit_and_the_same_files_in_a_folder_are_one_snapshot(repository: Path, tmp_path: Path) -> None:
    assert take_snapshot(repository, tmp_path / "c", "main").digest == take_snapshot(repository, tmp_path / "c").digest


def test_a_ref_is_read_with_no_configuration_but_the_repositorys(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'")
    assert "src/price.py" in take_snapshot(repository, tmp_path / "cache", "broken").files


@pytest.mark.parametrize("ref", ["no-such-branch", "0" * 40, "HEAD~99", "HEAD:src", "--output=x", ""])
def test_a_ref_that_is_no_commit_is_an_error_that_quotes_it(ref: str, repository: Path, tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match=f"fixture_ref '{ref}' cannot be read"):
        take_snapshot(repository, tmp_path / "cache", ref)


def test_a_ref_of_a_folder_inside_another_repository_is_an_error(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match="a git repository of its own"):
        take_snapshot(repository / "src", tmp_path / "cache", "main")

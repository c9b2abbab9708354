"""Opening the store: SQLite in WAL with one writer, or another database by URL; migrated on open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from crucible.errors import StoreError

HEAD = "0005"
"""Newest migration; a store that is at this one is opened without loading alembic."""
BUSY_SECONDS = 30


def open_engine(where: str | Path) -> Engine:
    """An engine on a SQLite path or a database URL, at the newest version. Raises StoreError."""
    engine = _engine(where)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
    try:
        if _version(engine) != HEAD:
            _migrate(engine)
    except (OperationalError, DatabaseError) as error:
        engine.dispose()
        raise StoreError(f"{as_shown(where)}: cannot be used as a store: {error.orig}", hint=_hint(error)) from error
    except StoreError:
        engine.dispose()
        raise
    return engine


def as_shown(where: str | Path) -> str:
    """A path or URL of a store as people may see it: without its password."""
    scheme, is_url, _ = str(where).partition("://")
    if not is_url:
        return str(where)
    try:
        url = make_url(str(where))
    except (ArgumentError, ValueError):
        return f"{scheme}://..."
    query = {key: "..." if "pass" in key.lower() else value for key, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)


def _engine(where: str | Path) -> Engine:
    url = str(where) if "://" in str(where) else f"sqlite:///{_prepared(Path(where))}"
    try:
        return create_engine(url, connect_args={"timeout": BUSY_SECONDS} if url.startswith("sqlite") else {})
    except ModuleNotFoundError as error:
        hint = f"install it beside Crucible: pip install {error.name}"
        raise StoreError(f"{as_shown(where)}: needs the Python package {error.name}", hint=hint) from error
    except (ArgumentError, ValueError) as error:
        hint = "a file, or a URL such as postgresql+psycopg://user@host/name"
        # What SQLAlchemy says may quote the URL.
        raise StoreError(f"{as_shown(where)}: is no address of a database", hint=hint) from error


def _prepared(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent}: cannot be made: {error.strerror}") from error
    return path


def _on_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we say BEGIN IMMEDIATE ourselves, below
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", f"busy_timeout={BUSY_SECONDS * 1000}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _on_begin(connection: Any) -> None:
    # A deferred transaction that reads and then writes fails at once on a stale WAL snapshot, whatever the time-out.
    immediate = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _version(engine: Engine) -> str | None:
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return version


def _migrate(engine: Engine) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    current = _version(engine)
    if current is not None and current not in known:
        raise StoreError(
            f"the store is of version {current}, newer than this Crucible knows ({HEAD})",
            hint="upgrade Crucible, or name another store with --store",
        )
    with engine.connect().execution_options(writing=True) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()


def _hint(error: DatabaseError) -> str:
    said = str(error.orig)
    if "locked" in said:
        return "another process holds it; wait for it or name another store with --store"
    if "not a database" in said:
        return "the file is something else; name another store with --store"
    return "check that the folder can be written, or name another store with --store"

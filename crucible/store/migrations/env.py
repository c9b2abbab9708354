"""alembic's entry: runs the migrations on the connection the store hands over."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

from crucible.store import tables

assert tables.AttemptRow.metadata is SQLModel.metadata  # noqa: S101 - importing the tables is what fills the metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()

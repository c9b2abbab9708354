"""Events thinned: what reports read of every event of a run lies in an index, so that SQLite parses none for them.

Indexes on expressions are not reflected: a later migration that rebuilds the table has to make this one again.
"""

from __future__ import annotations

from alembic import op

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None

_FIELDS = """CASE kind
WHEN 'equipped' THEN json_array(json_extract(data, '$.offered'))
WHEN 'replied' THEN json_extract(data, '$.input_uncached', '$.input_cached', '$.cache_write', '$.output')
WHEN 'answered' THEN json_extract(data, '$.call_id', '$.tool', '$.ok',
  CASE WHEN json_extract(data, '$.ok') THEN '$.nothing' ELSE '$.arguments' END)
WHEN 'decided' THEN json_extract(data, '$.call_id', '$.action') END"""
_CHARACTERS = r"""CASE WHEN kind IN ('equipped', 'replied', 'answered', 'decided')
THEN coalesce(CASE WHEN instr(data, '\u0000') THEN length(json_extract(data, '$.text', '$.nothing')) - 9
  ELSE length(json_extract(data, '$.text')) END, 0) + coalesce(length(json_extract(data, '$.tool_calls')), 0) END"""


def upgrade() -> None:
    """Apply. Other databases send events whole and keep the order of their key."""
    if op.get_bind().dialect.name == 'sqlite':
        op.execute(f'CREATE INDEX event_thin ON event (attempt_id, kind, seq, turn, {_FIELDS}, {_CHARACTERS})')


def downgrade() -> None:
    """Undo."""
    op.execute('DROP INDEX IF EXISTS event_thin')

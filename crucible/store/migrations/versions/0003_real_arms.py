"""Real arms: what really ran in each attempt, and what each arm was first asked."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None


def _attempt_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column('setup', sa.String(), server_default='', nullable=False),
        sa.Column('agent', sa.String(), nullable=True),
        sa.Column('servers', sa.JSON(), server_default='{}', nullable=False),
    ]


def _leaderboard_indexes(told_apart_by: list[str]) -> None:
    """The leaderboard reads these two and no table."""
    op.drop_index('attempt_leaderboard', 'attempt')
    op.drop_index('total_leaderboard', 'total')
    arm = ['rehearsal', 'scenario', 'scenario_hash', 'arm', 'model', *told_apart_by]
    op.create_index('attempt_leaderboard', 'attempt', [*arm, 'counted', 'passed', 'cost_usd', 'tokens', 'seconds'])
    op.create_index('total_leaderboard', 'total', [*arm, 'attempt_id', 'seq', 'value'])


def upgrade() -> None:
    """Apply. Runs without the extra tools said so in the run alone; now their attempts do."""
    for column in _attempt_columns():
        op.add_column('attempt', column)
    op.add_column('total', sa.Column('setup', sa.String(), server_default='', nullable=False))
    op.add_column('run', sa.Column('tools', sa.JSON(), server_default='{}', nullable=False))
    op.create_table('first_request',
    sa.Column('sha256', sa.String(), nullable=False),
    sa.Column('data', sa.String(), nullable=False),
    sa.PrimaryKeyConstraint('sha256')
    )
    op.execute(
        "UPDATE attempt SET setup = 'without extra tools' "
        'WHERE run_id IN (SELECT id FROM run WHERE without_extra_tools)'
    )
    op.execute('UPDATE total SET setup = (SELECT a.setup FROM attempt a WHERE a.id = total.attempt_id)')
    _leaderboard_indexes(['setup'])


def downgrade() -> None:
    """Undo."""
    _leaderboard_indexes([])
    op.drop_table('first_request')
    op.drop_column('run', 'tools')
    op.drop_column('total', 'setup')
    for column in _attempt_columns():
        op.drop_column('attempt', column.name)

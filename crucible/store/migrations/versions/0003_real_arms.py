"""Real arms: what really ran in each attempt, and what each arm was first asked."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
import yaml
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


def _leaderboard_indexes(told_apart_by: list[str], judged_by: list[str]) -> None:
    """The leaderboard reads these two and no table."""
    op.drop_index('attempt_leaderboard', 'attempt')
    op.drop_index('total_leaderboard', 'total')
    arm = ['rehearsal', 'scenario', 'scenario_hash', 'arm', 'model', *told_apart_by]
    op.create_index('attempt_leaderboard', 'attempt', [*arm, 'counted', 'passed', 'cost_usd', 'tokens', 'seconds'])
    op.create_index('total_leaderboard', 'total', [*arm, *judged_by, 'attempt_id', 'seq', 'value'])


def _mark_without_extra_tools() -> None:
    """Runs without the extra tools said so in the run alone; now the attempts of the arms that name some do."""
    connection = op.get_bind()
    found = connection.execute(sa.text(
        'SELECT DISTINCT a.scenario_hash, s.text FROM attempt a JOIN scenario s ON s.hash = a.scenario_hash '
        'JOIN run r ON r.id = a.run_id WHERE r.without_extra_tools'
    )).all()
    for scenario_hash, text in found:
        for arm in _arms_with_extra_tools(text):
            connection.execute(sa.text(
                "UPDATE attempt SET setup = 'without extra tools' WHERE scenario_hash = :hash AND arm = :arm "
                'AND run_id IN (SELECT id FROM run WHERE without_extra_tools)'
            ), {'hash': scenario_hash, 'arm': arm})


def _arms_with_extra_tools(text: str) -> list[str]:
    frontmatter = re.split(r'^---[ \t]*\r?$', text.lstrip('\ufeff'), maxsplit=2, flags=re.MULTILINE)[1]
    arms = yaml.safe_load(frontmatter)['arms']
    return [arm['id'] for arm in arms if arm.get('extra_tools')]


def upgrade() -> None:
    """Apply."""
    for column in _attempt_columns():
        op.add_column('attempt', column)
    op.add_column('total', sa.Column('setup', sa.String(), server_default='', nullable=False))
    op.add_column('run', sa.Column('tools', sa.JSON(), server_default='{}', nullable=False))
    op.create_table('first_request',
    sa.Column('sha256', sa.String(), nullable=False),
    sa.Column('data', sa.String(), nullable=False),
    sa.PrimaryKeyConstraint('sha256')
    )
    _mark_without_extra_tools()
    op.execute('UPDATE total SET setup = (SELECT a.setup FROM attempt a WHERE a.id = total.attempt_id)')
    _leaderboard_indexes(['setup'], ['judge_id'])


def downgrade() -> None:
    """Undo."""
    _leaderboard_indexes([], [])
    op.drop_table('first_request')
    op.drop_column('run', 'tools')
    op.drop_column('total', 'setup')
    for column in _attempt_columns():
        op.drop_column('attempt', column.name)

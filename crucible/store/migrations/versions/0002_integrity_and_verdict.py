"""Integrity and verdict: flags, looks, labels, what a run declares, quarantined and controlled tests."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def _run_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column('kind', sa.String(), server_default='comparison', nullable=False),
        sa.Column('primary_metric', sa.String(), server_default='pass_rate', nullable=False),
        sa.Column('margin', sa.Float(), server_default='0.1', nullable=False),
        sa.Column('sequential', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('suite', sa.String(), nullable=True),
    ]


def _validation_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column('repeats', sa.Integer(), server_default='2', nullable=False),
        sa.Column('quarantined', sa.JSON(), server_default='[]', nullable=False),
        sa.Column('controlled', sa.JSON(), server_default='[]', nullable=False),
    ]


def _leaderboard_indexes(named_by: list[str]) -> None:
    """The leaderboard reads these two and no table; versions of a scenario are told apart in them."""
    op.drop_index('attempt_leaderboard', 'attempt')
    op.drop_index('total_leaderboard', 'total')
    arm = ['rehearsal', *named_by, 'arm', 'model']
    op.create_index('attempt_leaderboard', 'attempt', [*arm, 'counted', 'passed', 'cost_usd', 'tokens', 'seconds'])
    op.create_index('total_leaderboard', 'total', [*arm, 'attempt_id', 'seq', 'value'])


def upgrade() -> None:
    """Apply."""
    for column in _run_columns():
        op.add_column('run', column)
    op.create_index('ix_run_suite', 'run', ['suite'])
    for column in _validation_columns():
        op.add_column('validation', column)
    op.add_column('test_report', sa.Column('control', sa.JSON(), nullable=True))
    op.create_table('flag',
    sa.Column('attempt_id', sa.Integer(), nullable=False),
    sa.Column('seq', sa.Integer(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('turn', sa.Integer(), nullable=False),
    sa.Column('call_id', sa.String(), nullable=False),
    sa.Column('detail', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id']),
    sa.PrimaryKeyConstraint('attempt_id', 'seq')
    )
    op.create_table('look',
    sa.Column('run_id', sa.Integer(), nullable=False),
    sa.Column('scenario_hash', sa.String(), nullable=False),
    sa.Column('pairs', sa.Integer(), nullable=False),
    sa.Column('passed_treatment', sa.Integer(), nullable=False),
    sa.Column('passed_baseline', sa.Integer(), nullable=False),
    sa.Column('z', sa.Float(), nullable=False),
    sa.Column('boundary', sa.Float(), nullable=True),
    sa.Column('decision', sa.String(), nullable=False),
    sa.Column('at', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['run_id'], ['run.id']),
    sa.ForeignKeyConstraint(['scenario_hash'], ['scenario.hash']),
    sa.PrimaryKeyConstraint('run_id', 'scenario_hash', 'pairs')
    )
    op.create_table('label',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('attempt_id', sa.Integer(), nullable=False),
    sa.Column('dimension', sa.String(), nullable=False),
    sa.Column('value', sa.Integer(), nullable=True),
    sa.Column('labeller', sa.String(), nullable=False),
    sa.Column('created_at', sa.String(), nullable=False),
    sa.Column('seconds', sa.Float(), nullable=True),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id']),
    sa.PrimaryKeyConstraint('id')
    )
    op.create_index('ix_label_attempt_id', 'label', ['attempt_id'])
    op.add_column('total', sa.Column('scenario_hash', sa.String(), server_default='', nullable=False))
    op.execute(
        'UPDATE total SET scenario_hash = (SELECT a.scenario_hash FROM attempt a WHERE a.id = total.attempt_id)'
    )
    _leaderboard_indexes(['scenario', 'scenario_hash'])


def downgrade() -> None:
    """Undo."""
    _leaderboard_indexes(['scenario'])
    op.drop_column('total', 'scenario_hash')
    for table in ('label', 'look', 'flag'):
        op.drop_table(table)
    op.drop_column('test_report', 'control')
    for column in _validation_columns():
        op.drop_column('validation', column.name)
    op.drop_index('ix_run_suite', 'run')
    for column in _run_columns():
        op.drop_column('run', column.name)

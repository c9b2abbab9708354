"""Runs of the leaderboard: its index says which run an attempt is of, as not every run is ranked."""

from __future__ import annotations

from alembic import op

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def _leaderboard_index(told_by: list[str]) -> None:
    op.drop_index('attempt_leaderboard', 'attempt')
    arm = ['rehearsal', 'scenario', 'scenario_hash', 'arm', 'model', 'setup']
    measured = ['counted', 'passed', 'cost_usd', 'tokens', 'seconds']
    op.create_index('attempt_leaderboard', 'attempt', [*arm, *measured, *told_by])


def upgrade() -> None:
    """Apply."""
    _leaderboard_index(['run_id'])


def downgrade() -> None:
    """Undo."""
    _leaderboard_index([])

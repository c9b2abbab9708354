"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table('judge',
    sa.Column('id', sa.String(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('samples', sa.Integer(), nullable=False),
    sa.Column('prompt_hash', sa.String(), nullable=False),
    sa.Column('rubric_hash', sa.String(), nullable=False),
    sa.Column('created_at', sa.String(), nullable=False),
    sa.PrimaryKeyConstraint('id')
    )
    op.create_table('run',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('created_at', sa.String(), nullable=False),
    sa.Column('ended_at', sa.String(), nullable=True),
    sa.Column('status', sa.String(), nullable=False),
    sa.Column('rehearsal', sa.Boolean(), nullable=False),
    sa.Column('seed', sa.Integer(), nullable=False),
    sa.Column('blocks', sa.Integer(), nullable=False),
    sa.Column('sandbox', sa.String(), nullable=False),
    sa.Column('judge', sa.String(), nullable=False),
    sa.Column('judge_samples', sa.Integer(), nullable=False),
    sa.Column('parallel', sa.Integer(), nullable=False),
    sa.Column('max_cost_usd', sa.Float(), nullable=True),
    sa.Column('without_extra_tools', sa.Boolean(), nullable=False),
    sa.Column('version', sa.String(), nullable=False),
    sa.Column('bench', sa.String(), nullable=False),
    sa.Column('owner', sa.String(), nullable=True),
    sa.PrimaryKeyConstraint('id')
    )
    op.create_table('scenario',
    sa.Column('hash', sa.String(), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('text', sa.String(), nullable=False),
    sa.Column('fixture_digest', sa.String(), nullable=False),
    sa.Column('reference_text', sa.String(), nullable=False),
    sa.Column('created_at', sa.String(), nullable=False),
    sa.PrimaryKeyConstraint('hash')
    )
    with op.batch_alter_table('scenario', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_scenario_name'), ['name'], unique=False)

    op.create_table('attempt',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('run_id', sa.Integer(), nullable=False),
    sa.Column('scenario_hash', sa.String(), nullable=False),
    sa.Column('scenario', sa.String(), nullable=False),
    sa.Column('arm', sa.String(), nullable=False),
    sa.Column('block', sa.Integer(), nullable=False),
    sa.Column('retry', sa.Integer(), nullable=False),
    sa.Column('baseline', sa.Boolean(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('rehearsal', sa.Boolean(), nullable=False),
    sa.Column('session', sa.String(), nullable=True),
    sa.Column('sandbox', sa.String(), nullable=False),
    sa.Column('started_at', sa.String(), nullable=False),
    sa.Column('ended_at', sa.String(), nullable=True),
    sa.Column('ending', sa.String(), nullable=True),
    sa.Column('cause', sa.String(), nullable=True),
    sa.Column('detail', sa.String(), nullable=False),
    sa.Column('counted', sa.Boolean(), nullable=True),
    sa.Column('passed', sa.Boolean(), nullable=True),
    sa.Column('turns', sa.Integer(), nullable=True),
    sa.Column('tool_calls', sa.Integer(), nullable=True),
    sa.Column('blocked', sa.Integer(), nullable=True),
    sa.Column('warned', sa.Integer(), nullable=True),
    sa.Column('got_past', sa.Integer(), nullable=True),
    sa.Column('seconds', sa.Float(), nullable=True),
    sa.Column('waited_seconds', sa.Float(), nullable=True),
    sa.Column('overhead_seconds', sa.Float(), nullable=True),
    sa.Column('input_uncached', sa.Integer(), nullable=True),
    sa.Column('input_cached', sa.Integer(), nullable=True),
    sa.Column('cache_write', sa.Integer(), nullable=True),
    sa.Column('output', sa.Integer(), nullable=True),
    sa.Column('reasoning', sa.Integer(), nullable=True),
    sa.Column('tokens', sa.Integer(), nullable=True),
    sa.Column('cost_usd', sa.Float(), nullable=True),
    sa.Column('scripted_usage', sa.Boolean(), nullable=False),
    sa.Column('diff', sa.String(), nullable=True),
    sa.Column('diff_size', sa.Integer(), nullable=True),
    sa.Column('similarity', sa.Float(), nullable=True),
    sa.Column('structural', sa.Float(), nullable=True),
    sa.Column('textual', sa.Float(), nullable=True),
    sa.Column('similarity_reasons', sa.JSON(), nullable=False),
    sa.Column('size_ratio', sa.Float(), nullable=True),
    sa.ForeignKeyConstraint(['run_id'], ['run.id'], ),
    sa.ForeignKeyConstraint(['scenario_hash'], ['scenario.hash'], ),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('run_id', 'scenario_hash', 'arm', 'block', 'retry')
    )
    with op.batch_alter_table('attempt', schema=None) as batch_op:
        batch_op.create_index('attempt_leaderboard', ['rehearsal', 'scenario', 'arm', 'model', 'counted', 'passed', 'cost_usd', 'tokens', 'seconds'], unique=False)

    op.create_table('planned',
    sa.Column('run_id', sa.Integer(), nullable=False),
    sa.Column('position', sa.Integer(), nullable=False),
    sa.Column('scenario_hash', sa.String(), nullable=False),
    sa.Column('block', sa.Integer(), nullable=False),
    sa.Column('arm', sa.String(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('baseline', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['run_id'], ['run.id'], ),
    sa.ForeignKeyConstraint(['scenario_hash'], ['scenario.hash'], ),
    sa.PrimaryKeyConstraint('run_id', 'position'),
    sa.UniqueConstraint('run_id', 'scenario_hash', 'arm', 'block')
    )
    op.create_table('validation',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('scenario_hash', sa.String(), nullable=False),
    sa.Column('created_at', sa.String(), nullable=False),
    sa.Column('sandbox', sa.String(), nullable=False),
    sa.Column('python', sa.String(), nullable=False),
    sa.Column('ok', sa.Boolean(), nullable=False),
    sa.Column('problems', sa.JSON(), nullable=False),
    sa.Column('expected', sa.JSON(), nullable=False),
    sa.Column('failing_before', sa.JSON(), nullable=False),
    sa.Column('passing_before', sa.JSON(), nullable=False),
    sa.Column('seconds', sa.Float(), nullable=False),
    sa.Column('canary', sa.String(), nullable=True),
    sa.ForeignKeyConstraint(['scenario_hash'], ['scenario.hash'], ),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('validation', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_validation_scenario_hash'), ['scenario_hash'], unique=False)

    op.create_table('changed_file',
    sa.Column('attempt_id', sa.Integer(), nullable=False),
    sa.Column('path', sa.String(), nullable=False),
    sa.Column('status', sa.String(), nullable=False),
    sa.Column('old_path', sa.String(), nullable=True),
    sa.Column('mode_before', sa.Integer(), nullable=True),
    sa.Column('mode_after', sa.Integer(), nullable=True),
    sa.Column('size_before', sa.Integer(), nullable=True),
    sa.Column('size_after', sa.Integer(), nullable=True),
    sa.Column('sha256_after', sa.String(), nullable=True),
    sa.Column('graded', sa.Boolean(), nullable=False),
    sa.Column('left_out', sa.String(), nullable=True),
    sa.Column('after', sa.LargeBinary(), nullable=True),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id'], ),
    sa.PrimaryKeyConstraint('attempt_id', 'path')
    )
    op.create_table('event',
    sa.Column('attempt_id', sa.Integer(), nullable=False),
    sa.Column('seq', sa.Integer(), nullable=False),
    sa.Column('kind', sa.String(), nullable=False),
    sa.Column('turn', sa.Integer(), nullable=False),
    sa.Column('at', sa.Float(), nullable=False),
    sa.Column('data', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id'], ),
    sa.PrimaryKeyConstraint('attempt_id', 'seq')
    )
    op.create_table('judgement',
    sa.Column('id', sa.Integer(), nullable=False),
    sa.Column('attempt_id', sa.Integer(), nullable=False),
    sa.Column('judge_id', sa.String(), nullable=False),
    sa.Column('dimension', sa.String(), nullable=False),
    sa.Column('sample', sa.Integer(), nullable=False),
    sa.Column('asking', sa.Integer(), nullable=False),
    sa.Column('reply', sa.String(), nullable=False),
    sa.Column('error', sa.String(), nullable=True),
    sa.Column('usage', sa.JSON(), nullable=False),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id'], ),
    sa.ForeignKeyConstraint(['judge_id'], ['judge.id'], ),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('judgement', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_judgement_attempt_id'), ['attempt_id'], unique=False)

    op.create_table('score',
    sa.Column('attempt_id', sa.Integer(), nullable=False),
    sa.Column('judge_id', sa.String(), nullable=False),
    sa.Column('dimension', sa.String(), nullable=False),
    sa.Column('weight', sa.Float(), nullable=False),
    sa.Column('value', sa.Float(), nullable=True),
    sa.Column('reason', sa.String(), nullable=True),
    sa.Column('raw', sa.Float(), nullable=True),
    sa.Column('samples', sa.JSON(), nullable=False),
    sa.Column('asked', sa.Integer(), nullable=False),
    sa.Column('clamps', sa.JSON(), nullable=False),
    sa.Column('evidence', sa.JSON(), nullable=False),
    sa.Column('reasoning', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id'], ),
    sa.ForeignKeyConstraint(['judge_id'], ['judge.id'], ),
    sa.PrimaryKeyConstraint('attempt_id', 'judge_id', 'dimension')
    )
    op.create_table('test_report',
    sa.Column('attempt_id', sa.Integer(), nullable=False),
    sa.Column('state', sa.String(), nullable=False),
    sa.Column('exit_code', sa.Integer(), nullable=True),
    sa.Column('seconds', sa.Float(), nullable=False),
    sa.Column('passed', sa.JSON(), nullable=False),
    sa.Column('failed', sa.JSON(), nullable=False),
    sa.Column('fixed', sa.JSON(), nullable=False),
    sa.Column('broke', sa.JSON(), nullable=False),
    sa.Column('missing', sa.JSON(), nullable=False),
    sa.Column('detail', sa.String(), nullable=False),
    sa.Column('output', sa.String(), nullable=False),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id'], ),
    sa.PrimaryKeyConstraint('attempt_id')
    )
    op.create_table('total',
    sa.Column('attempt_id', sa.Integer(), nullable=False),
    sa.Column('judge_id', sa.String(), nullable=False),
    sa.Column('seq', sa.Integer(), nullable=False),
    sa.Column('value', sa.Float(), nullable=True),
    sa.Column('partial', sa.Float(), nullable=True),
    sa.Column('weight_scored', sa.Float(), nullable=False),
    sa.Column('missing', sa.JSON(), nullable=False),
    sa.Column('cuts', sa.JSON(), nullable=False),
    sa.Column('scenario', sa.String(), nullable=False),
    sa.Column('arm', sa.String(), nullable=False),
    sa.Column('model', sa.String(), nullable=False),
    sa.Column('rehearsal', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['attempt_id'], ['attempt.id'], ),
    sa.ForeignKeyConstraint(['judge_id'], ['judge.id'], ),
    sa.PrimaryKeyConstraint('attempt_id', 'judge_id')
    )
    with op.batch_alter_table('total', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_total_seq'), ['seq'], unique=False)
        batch_op.create_index('total_latest', ['attempt_id', 'seq'], unique=False)
        batch_op.create_index('total_leaderboard', ['rehearsal', 'scenario', 'arm', 'model', 'attempt_id', 'seq', 'value'], unique=False)



def downgrade() -> None:
    """Undo."""
    with op.batch_alter_table('total', schema=None) as batch_op:
        batch_op.drop_index('total_leaderboard')
        batch_op.drop_index('total_latest')
        batch_op.drop_index(batch_op.f('ix_total_seq'))

    op.drop_table('total')
    op.drop_table('test_report')
    op.drop_table('score')
    with op.batch_alter_table('judgement', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_judgement_attempt_id'))

    op.drop_table('judgement')
    op.drop_table('event')
    op.drop_table('changed_file')
    with op.batch_alter_table('validation', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_validation_scenario_hash'))

    op.drop_table('validation')
    op.drop_table('planned')
    with op.batch_alter_table('attempt', schema=None) as batch_op:
        batch_op.drop_index('attempt_leaderboard')

    op.drop_table('attempt')
    with op.batch_alter_table('scenario', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_scenario_name'))

    op.drop_table('scenario')
    op.drop_table('run')
    op.drop_table('judge')

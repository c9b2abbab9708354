"""The stored versions of scenarios, with the newest check of each and what was run of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import func
from sqlmodel import col, select

from crucible.store.pages import columns_of
from crucible.store.tables import PlannedRow, ScenarioRow, ValidationRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class Version:
    """One stored version (hash) of a scenario, with its newest validation and what was run of it."""

    hash: str
    stored: str
    ok: bool | None
    checked: str | None
    problems: tuple[str, ...]
    expected: int | None
    quarantined: int
    controlled: int
    runs: int
    text: str = ""


def versions(store: Store, name: str | None = None) -> dict[str, list[Version]]:
    """Stored versions by scenario name, newest first."""
    newest = columns_of(func.max(ValidationRow.id)).group_by(col(ValidationRow.scenario_hash))
    with store.reading() as session:
        scenarios = session.execute(
            columns_of(ScenarioRow.hash, ScenarioRow.name, ScenarioRow.created_at, ScenarioRow.text)
            .where(*([] if name is None else [ScenarioRow.name == name]))
            .order_by(col(ScenarioRow.created_at).desc())
        ).all()
        checks = session.exec(select(ValidationRow).where(col(ValidationRow.id).in_(newest))).all()
        per_run = columns_of(PlannedRow.scenario_hash, func.count(func.distinct(PlannedRow.run_id)))
        counts = dict(session.execute(per_run.group_by(col(PlannedRow.scenario_hash))).all())
    checked = {check.scenario_hash: check for check in checks}
    found: dict[str, list[Version]] = {}
    for digest, of, stored, text in scenarios:
        version = _version(digest, stored, checked.get(digest), counts.get(digest, 0))
        found.setdefault(of, []).append(replace(version, text=text))
    return found


def _version(digest: str, stored: str, check: ValidationRow | None, runs: int) -> Version:
    if check is None:
        return Version(digest, stored, None, None, (), None, 0, 0, runs)
    return Version(
        *(digest, stored, check.ok, check.created_at, tuple(check.problems), len(check.expected)),
        *(len(check.quarantined), len(check.controlled), runs),
    )

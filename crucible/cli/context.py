"""What every command starts from: the bench folder, its settings and its store, found when asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crucible.errors import UsageError

if TYPE_CHECKING:
    from crucible.settings import Settings
    from crucible.store.writes import Store


@dataclass
class Context:
    """The bench a command works on."""

    bench_option: Path | None = None
    store_option: str | None = None

    @cached_property
    def bench(self) -> Path:
        """The bench folder: --bench, else the nearest folder upwards that holds crucible.toml."""
        from crucible.scenario.catalog import find_bench

        if self.bench_option is not None:
            if not self.bench_option.is_dir():
                raise UsageError(f"{self.bench_option}: there is no such folder")
            return find_bench(self.bench_option)
        return find_bench(Path.cwd())

    def settings(self, **flags: Any) -> Settings:
        """Settings with flags on top."""
        from crucible.settings import load_settings

        return load_settings(self.bench, store=self.store_option, **flags)

    def store_path(self, settings: Settings) -> str:
        """Where the store is: a URL as it stands, a path relative to the bench."""
        return settings.store if "://" in settings.store else str(self.bench / settings.store)

    def open_store(self, settings: Settings, *, must_exist: bool = False) -> Store:
        """The store, opened. With `must_exist`, a missing file is an error and is not made."""
        where = self.store_path(settings)
        if must_exist and "://" not in where and not Path(where).exists():
            raise UsageError(f"{where}: nothing has been stored yet", hint="crucible run SCENARIO --rehearse")
        from crucible.store.writes import Store

        return Store(where)

    def shown(self, path: str | Path) -> str:
        """A path as a person in this folder would type it."""
        try:
            return os.path.relpath(path)
        except ValueError:
            return str(path)

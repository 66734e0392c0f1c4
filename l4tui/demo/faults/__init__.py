"""The scenarios by name; a new one is one class and one row."""

from __future__ import annotations

from l4tui.demo.faults.base import Fault, Scenario

__all__ = ["Fault", "Scenario", "scenario_named", "scenarios"]


def scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name, the healthy job first."""
    from l4tui.demo.faults import compute, hangs, network, numerics, setup, storage

    found: dict[str, Scenario] = {}
    for module in (numerics, compute, hangs, network, storage, setup):
        for row in module.SCENARIOS:
            if row.name in found:
                raise ValueError(f"two scenarios are called {row.name!r}")
            found[row.name] = row
    return found


def scenario_named(name: str) -> Scenario:
    """Return one scenario.

    Raises:
        ValueError: no scenario has that name.
    """
    known = scenarios()
    if name not in known:
        raise ValueError(f"unknown scenario {name!r}; one of {', '.join(known)}")
    return known[name]

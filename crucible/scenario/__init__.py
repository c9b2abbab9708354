"""Scenario files: schema, loader, catalog, patches and reference fixes."""

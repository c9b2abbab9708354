"""One SQLite file: tables, migrations, queries. Imports nothing of ours but errors."""

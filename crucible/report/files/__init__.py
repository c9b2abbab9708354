"""The report of a run as a file for others: Markdown for a pull request, JUnit for a CI server, CSV for a spreadsheet."""

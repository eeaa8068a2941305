"""A report: plain data and its renderings. Performs no judging."""

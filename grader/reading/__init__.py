"""A script as text: parsed, searched for lines, and for what an instructor may want to look at. Runs nothing."""

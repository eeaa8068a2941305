"""The static site: lessons as scripts/run executed them, documents, search. Sphinx builds it, with myst-nb and Furo."""

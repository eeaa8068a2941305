"""Running a script, from outside: pool, fork server, sandbox, supervisor, time budget, static reading, expectations."""

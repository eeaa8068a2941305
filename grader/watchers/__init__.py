"""What scripts for several hosts do, seen from outside: each module makes hosts for one kind, disturbs and watches them.

A watcher runs inside a sandbox, next to the hosts, in a process of its own. The script runs on the hosts only: their
processes see neither the watcher nor each other, and have no rights over the hosts' namespaces.
"""

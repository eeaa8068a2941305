"""Scripts for several hosts, seen from outside: each *_watcher disturbs hosts in the SITUATIONS that it names.

A watcher runs inside a sandbox, next to the hosts, in a process of its own. The script runs on the hosts only: their
processes see neither the watcher nor each other, and have no rights over the hosts' namespaces.
"""

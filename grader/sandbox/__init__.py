"""All that protects the host from a script: mounts, limits, system calls and the time budget."""

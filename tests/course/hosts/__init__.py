"""Tests of the hosts, each with real namespaces."""

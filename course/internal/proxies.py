"""Environment variables with which no proxy is asked for what is on this machine, or on hosts made of it.

gRPC, and so TensorFlow's servers, would send even 127.0.0.1 to a proxy, and wait (tensorflow#50626).
"""

import os
from collections.abc import Mapping

HERE = "localhost", "127.0.0.1", "::1"
EXCEPTIONS = "no_proxy", "NO_PROXY", "no_grpc_proxy"
PROXIES = "http_proxy", "https_proxy", "grpc_proxy", "all_proxy"


def for_this_machine() -> dict[str, str]:
    """Return the variables for programs that reach each other on this machine, and the network by the user's proxy."""
    given = {name: os.environ.get(name) for name in EXCEPTIONS}
    either = given["no_proxy"] or given["NO_PROXY"] or ""  # a name that is not set is as the other one
    return {
        name: ",".join(dict.fromkeys([*filter(None, (value or either).split(",")), *HERE]))
        for name, value in given.items()
        if value or name != "no_grpc_proxy"  # gRPC's own, which counts before the others if it is set
    }


def without(variables: Mapping[str, str]) -> dict[str, str]:
    """Return these variables without proxies, for hosts from which none can be reached."""
    return {name: value for name, value in variables.items() if name.lower() not in PROXIES}

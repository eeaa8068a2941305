"""Passages of step 18's launch.sh that rows of the corpus replace."""

from tests.corpus.variant import passage

_LAUNCH = "hosts/launch.sh"

HOSTFILE = passage(_LAUNCH, "sed -e 's/#", "mapfile -t hosts")
STAGE = passage(_LAUNCH, "local command", "[[ ! $without ]]")
WITHOUT = passage(_LAUNCH, "[[ ! $without ]]")
START = passage(_LAUNCH, "mpirun --hostfile", "job=$!")
NETWORK = passage(_LAUNCH, "--mca btl_tcp_if_include")
VARIABLES = passage(_LAUNCH, "-x PATH -x RUN")
WATCH = passage(_LAUNCH, "while [[ ! $lost ]]", 'kill -KILL "$job"')
ASK = passage(_LAUNCH, "timeout 5 ssh")
END_RANKS = passage(_LAUNCH, "# Without mpirun and", 'kill -KILL "$job"')
END = passage(_LAUNCH, "status=0", 'exit "$status"')
LOST = passage(_LAUNCH, "[[ ! $lost ]] || fail")

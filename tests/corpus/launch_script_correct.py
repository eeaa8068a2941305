"""Correct scripts of step 18, launch.sh. Each one passes."""

from tests.corpus.launch_script_passages import (
    ASK,
    END,
    HOSTFILE,
    LOST,
    NETWORK,
    STAGE,
    START,
    VARIABLES,
)
from tests.corpus.variant import right

_READ_HOSTS = """hosts=()
while read -r host slots _; do
    [[ -z $host || $host == \\#* ]] && continue
    hosts+=("$host")
    echo "$host $slots"
done < <(cat "$1"; echo) > "$work/hostfile"
"""

_ONE_BY_ONE = """copy=/scratch/copy-of-this-job
for host in "${hosts[@]}"; do
    ssh "$host" "mkdir -p $copy && cp -r '$DATA'/* $copy/" < /dev/null || fail "$host: the data could not be copied"
done
"""

_TAR = """copy=/scratch/data
for host in "${hosts[@]}"; do
    tar -C "$DATA" -cf - . | ssh "$host" "mkdir -p $copy && tar -C $copy -xf -" || fail "no data on $host"
done
"""

_PER_HOST = """total=0
list=
while read -r host slots; do
    slots=${slots#slots=}
    total=$((total + slots))
    list+="${list:+,}$host:$slots"
done < "$work/hostfile"
mpirun --host "$list" -np "$total" --mca btl_tcp_if_include "$DATA_NETWORK" \\
    -x PATH -x RUN -x SEED -x DATA="$copy" \\
    "${program[@]}" < /dev/null &
job=$!
"""

_BY_VARIABLE = """export OMPI_MCA_btl_tcp_if_include=$DATA_NETWORK DATA=$copy
mpirun --hostfile "$work/hostfile" -x PATH -x RUN -x SEED -x DATA "${program[@]}" < /dev/null &
job=$!
"""

_ASK_TWICE = """        timeout 4 ssh "$host" true < /dev/null || timeout 4 ssh "$host" true < /dev/null || lost=$host
"""

_TRAPS = """status=0
wait "$job" 2> /dev/null || status=$?
if [[ $lost ]]; then
    echo "lost the host $lost" >&2
    exit 75
fi
((status == 0)) || exit 9
"""

_BY_VALUE = """    -x PATH -x RUN -x SEED="$SEED" -x DATA="$copy" \\
"""

_SAID = """[[ ! $lost ]] || { echo "host $lost is gone"; exit 1; }
"""

CORRECT = [
    right(18, "solution", in_ci=True)(),
    right(18, "in Python", base="hosts/launch.py", in_ci=True)(),
    right(18, "the hostfile is read line by line")((HOSTFILE, _READ_HOSTS)),
    right(18, "the data are copied to one host after another")((STAGE, _ONE_BY_ONE)),
    right(18, "the data are sent through ssh as an archive")((STAGE, _TAR)),
    right(18, "the hosts are listed for --host, with their slots")((START, _PER_HOST)),
    right(18, "the network and DATA are exported")((START, _BY_VARIABLE)),
    right(18, "all variables are passed on by name")((VARIABLES, _BY_VALUE)),
    right(18, "the transport over TCP is asked for")((NETWORK, f"    --mca btl self,tcp \\\n{NETWORK}")),
    right(18, "a host is asked twice before it is lost")((ASK, _ASK_TWICE)),
    right(18, "statuses of its own")((END, _TRAPS)),
    right(18, "the lost host is named on standard output")((LOST, _SAID)),
    right(18, "mpirun is called mpiexec")(("mpirun --hostfile", "mpiexec --hostfile"), ("sleep 1\n", "sleep 2\n")),
    right(18, "mpirun binds ranks as it likes")((" --map-by slot --bind-to none", "")),
    right(18, "only the variables of the exercise travel")((' "${passed[@]}"', "")),
]

"""Correct scripts of step 18, launch.sh. Each one passes."""

from tests.corpus.launch_script_passages import ASK, END, HOSTFILE, LOST, NETWORK, STAGE, START, VARIABLES
from tests.corpus.variant import Variant

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
    Variant("solution", 18, (), in_ci=True),
    Variant("the hostfile is read line by line", 18, ((HOSTFILE, _READ_HOSTS),)),
    Variant("the data are copied to one host after another", 18, ((STAGE, _ONE_BY_ONE),)),
    Variant("the data are sent through ssh as an archive", 18, ((STAGE, _TAR),)),
    Variant("the hosts are listed for --host, with their slots", 18, ((START, _PER_HOST),)),
    Variant("the network and DATA are exported", 18, ((START, _BY_VARIABLE),)),
    Variant(
        "all variables are passed on by name",
        18,
        ((VARIABLES, _BY_VALUE),),
    ),
    Variant("the transport over TCP is asked for", 18, ((NETWORK, f"    --mca btl self,tcp \\\n{NETWORK}"),)),
    Variant("a host is asked twice before it is lost", 18, ((ASK, _ASK_TWICE),)),
    Variant("statuses of its own", 18, ((END, _TRAPS),)),
    Variant(
        "the lost host is named on standard output",
        18,
        ((LOST, _SAID),),
    ),
    Variant(
        "mpirun is called mpiexec",
        18,
        (("mpirun --hostfile", "mpiexec --hostfile"), ("sleep 1\n", "sleep 2\n")),
    ),
]

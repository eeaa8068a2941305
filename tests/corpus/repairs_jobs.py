"""Repairs of the cases whose job is judged by its result, and tries that are none."""

from tests.corpus.repair import Repair, fails, repairs

REPAIRS: list[Repair] = [
    # 39: a host with a slow cable
    repairs(39, "the spare host in place of the slow one")(("hosts=(node1 node2 node3)", "hosts=(node4 node3 node1)")),
    repairs(39, "the three hosts that answer fastest")(
        (
            "hosts=(node1 node2 node3)\n",
            """seconds() {
    local began=$EPOCHREALTIME
    head -c 2000000 /dev/zero | ssh "$1" 'cat > /dev/null'
    awk -v began="$began" -v ended="$EPOCHREALTIME" -v host="$1" 'BEGIN { print ended - began, host }'
}
mapfile -t hosts < <(for host in node1 node2 node3 node4; do seconds "$host"; done | sort -n | head -3 | cut -d' ' -f2)
echo "hosts: ${hosts[*]}"
""",
        )
    ),
    fails(39, "the spare host in place of another one")(("hosts=(node1 node2 node3)", "hosts=(node1 node2 node4)")),
    fails(39, "the management network")(("network=10.77.0.0/24", "network=10.78.0.0/24")),
    fails(39, "two hosts")(("hosts=(node1 node2 node3)", "hosts=(node1 node3)")),
    # 40: another mpirun
    repairs(40, "Open MPI's by its path")(
        ("mpirun -np 4", '"$(type -ap mpirun | sed -n 2p)" -np 4'),
    ),
    repairs(40, "PATH as it was")(('export PATH="$PWD:$PATH"\n', ""), ("    train.py", "    ./train.py")),
    repairs(40, "mpiexec")(("mpirun -np 4", "mpiexec -np 4")),
    fails(40, "the number of ranks in the environment")(
        ("mpirun -np 4", "export OMPI_COMM_WORLD_SIZE=4\nmpirun -np 4"),
    ),
    fails(40, "all ranks on one host")(
        ('export PATH="$PWD:$PATH"', 'export PATH="$PATH:$PWD"'),
        ('--hostfile "$1"', "--host node1:4"),
    ),
    # 41: damaged images in the share of one rank
    repairs(41, "damaged images left out of each batch")(
        (
            "x, y = own_pixels[batch], own_classes[batch]\n",
            "x, y = own_pixels[batch], own_classes[batch]\n"
            "    sound = ~np.isnan(x).any(axis=1)\n"
            "    x, y = x[sound], y[sound]\n",
        )
    ),
    repairs(41, "missing pixels replaced", in_ci=True)(
        ("pixels, classes = images.load()\n", "pixels, classes = images.load()\npixels = np.nan_to_num(pixels)\n")
    ),
    repairs(41, "damaged images deleted")(
        (
            "pixels, classes = images.load()\n",
            "pixels, classes = images.load()\n"
            "damaged = [number for number, image in enumerate(pixels) if np.isnan(image.sum())]\n"
            "pixels, classes = np.delete(pixels, damaged, axis=0), np.delete(classes, damaged)\n",
        )
    ),
    fails(41, "a lower rate")(("RATE = 20, 800, 0.05", "RATE = 20, 800, 0.0125")),
    fails(41, "zeros in place of the gradient")(
        (
            "    comm.Allreduce(MPI.IN_PLACE, gradient)",
            "    comm.Allreduce(MPI.IN_PLACE, np.nan_to_num(gradient, copy=False))",
        )
    ),
    fails(41, "clipped", in_ci=True)(
        (
            "    comm.Allreduce(MPI.IN_PLACE, gradient)",
            "    gradient = gradient.clip(-1, 1)\n    comm.Allreduce(MPI.IN_PLACE, gradient)",
        )
    ),
    # 42: all ranks on one core
    repairs(42, "the rank's shell computes its core")(
        ('"${pin[@]}" python train.py', """bash -c 'exec taskset -c "$OMPI_COMM_WORLD_LOCAL_RANK" python train.py'""")
    ),
    repairs(42, "mpirun binds the ranks")(("--bind-to none", "--bind-to core"), ('"${pin[@]}" python', "python")),
    fails(42, "another core for all")(("LOCAL_RANK:-0}", "LOCAL_RANK:-1}")),
    fails(42, "mpirun binds, and the ranks are pinned still")(("--bind-to none", "--bind-to core")),
    fails(42, "one rank")(("-np 2", "-np 1")),
    # 43: batches are read between the steps
    repairs(43, "a thread and a queue", in_ci=True)(
        ("import json\n", "import json\nimport queue\nimport threading\n"),
        (
            """for step, number in enumerate(mine):
    batch = work.read(number)
""",
            """ready = queue.Queue(maxsize=2)
threading.Thread(target=lambda: [ready.put(work.read(number)) for number in mine], daemon=True).start()
for step, _ in enumerate(mine):
    batch = ready.get()
""",
        ),
    ),
    repairs(43, "the next batch is read while this one is computed")(
        ("import json\n", "import json\nfrom concurrent.futures import ThreadPoolExecutor\n"),
        (
            """for step, number in enumerate(mine):
    batch = work.read(number)
""",
            """pool = ThreadPoolExecutor()
coming = pool.submit(work.read, mine[0])
for step, number in enumerate(mine):
    batch = coming.result()
    if step + 1 < len(mine):
        coming = pool.submit(work.read, mine[step + 1])
""",
        ),
    ),
    fails(43, "all batches are read first", in_ci=True)(
        (
            "for step, number in enumerate(mine):\n",
            "batches = [work.read(number) for number in mine]\nfor step in range(len(mine)):\n",
        ),
        ("    batch = work.read(number)\n", "    batch = batches[step]\n"),
    ),
    fails(43, "each batch is used twice")(
        (
            """for step, number in enumerate(mine):
    batch = work.read(number)
""",
            """for step, number in enumerate(mine):
    batch = work.read(number) if step % 4 == 0 else batch
""",
        )
    ),
    # 44: the log needs a collective in each step
    repairs(44, "all losses are averaged after the epoch")(
        ("total = np.zeros(1)", "own = np.zeros(STEPS)"),
        (
            """        mean = np.array([loss])
        record.average(mean, step)
        total += mean
        if comm.rank == 0:
            print(f"step {step + 1}: loss {mean[0]:.3f}", flush=True)
""",
            "        own[number] = loss\n",
        ),
        (
            "    losses.append(round(total[0] / STEPS, 3))",
            "    record.average(own, step)\n    losses.append(round(own.mean(), 3))",
        ),
    ),
    repairs(44, "the loss is averaged where gradients are")(
        (
            """        mean = np.array([loss])
        record.average(mean, step)
        total += mean
        if comm.rank == 0:
            print(f"step {step + 1}: loss {mean[0]:.3f}", flush=True)
        if (number + 1) % EXCHANGE_EVERY == 0:
""",
            """        total += loss
        if (number + 1) % EXCHANGE_EVERY == 0:
            if number + 1 == STEPS:
                record.average(total, step)
""",
        ),
    ),
    fails(44, "averaged and not printed")(
        (
            """        if comm.rank == 0:
            print(f"step {step + 1}: loss {mean[0]:.3f}", flush=True)
""",
            "",
        )
    ),
    fails(44, "the loss of rank 0")(("        record.average(mean, step)\n", "")),
    # 45: no gradients are fused
    repairs(45, "Horovod's own setting")(
        ("export HOROVOD_FUSION_THRESHOLD=64\n", ""), (" -x HOROVOD_FUSION_THRESHOLD", "")
    ),
    repairs(45, "one megabyte")(("THRESHOLD=64", "THRESHOLD=1048576")),
    fails(45, "a hundred times as much")(("THRESHOLD=64", "THRESHOLD=6400")),
    fails(45, "a longer cycle")(("CYCLE_TIME=5", "CYCLE_TIME=50")),
    # 46: each gradient is averaged twice
    repairs(46, "averaged by hand only")(("    tape = hvd.DistributedGradientTape(tape)\n", "")),
    repairs(46, "averaged by hand, as a group")(
        ("    tape = hvd.DistributedGradientTape(tape)\n", ""),
        ("gradients = [hvd.allreduce(each) for each in gradients]", "gradients = hvd.grouped_allreduce(gradients)"),
    ),
    fails(46, "in half the precision, twice")(
        ("hvd.DistributedGradientTape(tape)", "hvd.DistributedGradientTape(tape, compression=hvd.Compression.fp16)"),
        ("hvd.allreduce(each)", "hvd.allreduce(each, compression=hvd.Compression.fp16)"),
    ),
    fails(46, "never")(
        ("    tape = hvd.DistributedGradientTape(tape)\n", ""),
        ("    gradients = [hvd.allreduce(each) for each in gradients]\n", ""),
    ),
    # 47: a checkpoint after each step
    repairs(47, "after the last step of an epoch")(
        (
            "        if comm.rank == 0:\n            work",
            "        if comm.rank == 0 and number == STEPS - 1:\n            work",
        )
    ),
    repairs(47, "in a thread, after the last step of an epoch")(
        ("import json\n", "import json\nimport threading\n"),
        (
            "        if comm.rank == 0:\n            work",
            "        if comm.rank == 0 and number == STEPS - 1:\n            work",
        ),
        (
            "work.save(weights, epoch, step)\n",
            """writing = threading.Thread(target=work.save, args=[weights.copy(), epoch, step])
            writing.start()
""",
        ),
        ("found = record.gather()\n", "if comm.rank == 0:\n    writing.join()\nfound = record.gather()\n"),
    ),
    fails(47, "on all ranks")(("        if comm.rank == 0:\n            work", "        if True:\n            work")),
    fails(47, "by another rank")(
        ("        if comm.rank == 0:\n            work", "        if comm.rank == 1:\n            work")
    ),
    fails(47, "after the first step of an epoch")(
        ("        if comm.rank == 0:\n            work", "        if comm.rank == 0 and number == 0:\n            work")
    ),
    # 48: the server listens on its loopback
    repairs(48, "on all interfaces", in_ci=True)(("--listen localhost:$port", "--listen 0.0.0.0:$port")),
    repairs(48, "on the management network")(
        ("--listen localhost:$port", "--listen node1-management:$port"),
        (
            'ssh node2 "$cd_here python worker.py --server node1:',
            'ssh node2 "$cd_here python worker.py --server node1-management:',
        ),
        (
            'ssh node3 "$cd_here python worker.py --server node1:',
            'ssh node3 "$cd_here python worker.py --server node1-management:',
        ),
    ),
    fails(48, "the workers look on their own hosts")(
        (
            'ssh node2 "$cd_here python worker.py --server node1:',
            'ssh node2 "$cd_here python worker.py --server localhost:',
        ),
        (
            'ssh node3 "$cd_here python worker.py --server node1:',
            'ssh node3 "$cd_here python worker.py --server localhost:',
        ),
    ),
    fails(48, "all on one host")(
        ("ssh node2", "ssh node1"),
        ("ssh node3", "ssh node1"),
        ('--server node1:$port" &\nssh', '--server localhost:$port" &\nssh'),
        ('--server node1:$port" &\nwait', '--server localhost:$port" &\nwait'),
    ),
]

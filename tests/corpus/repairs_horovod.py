"""Repairs of the cases of the first part, and tries that are none."""

from tests.corpus.repair import Repair, fails, repairs

_COMPILE = 'model.compile(loss="sparse_categorical_crossentropy", optimizer=opt, metrics=["accuracy"])\n'
_WRAP = "opt = hvd.DistributedOptimizer(opt)\n"
_AS_ALONE = "steps_per_epoch=len(train_iter),"
_START = "at_the_start = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]\n"
_EITHER = "callbacks = each_epoch + reports if verbose else each_epoch\n"
_OWN = "[hvd.rank() :: hvd.size()] for part in"
_AVERAGE = "    hvd.callbacks.MetricAverageCallback(),\n"
_STOP = "    StopAtAccuracy(args.target_accuracy, args.patience),\n"
_TO_REPORTERS = "    if not verbose:\n        return {}\n"

REPAIRS: list[Repair] = [
    # 1: wrapped after compile
    repairs(1, "wrapped where it is compiled")(
        (_COMPILE, _COMPILE.replace("optimizer=opt", "optimizer=hvd.DistributedOptimizer(opt)")),
        (_WRAP, ""),
    ),
    repairs(1, "compiled once more")((_WRAP, _WRAP + _COMPILE)),
    fails(1, "a rate of four ranks")(("learning_rate=args.base_lr", "learning_rate=args.base_lr * hvd.size()")),
    fails(1, "all images on each rank")(
        ("steps_per_epoch=len(train_iter) // hvd.size()", "steps_per_epoch=len(train_iter)")
    ),
    # 2: the broadcast is in no list
    repairs(2, "added to the list of all")((_EITHER, _EITHER + "callbacks = at_the_start + callbacks\n")),
    repairs(2, "in the list of each epoch")(
        (_START, ""),
        ("each_epoch = [\n", "each_epoch = [\n    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n"),
    ),
    repairs(2, "broadcast by hand")(
        (
            "import horovod.tensorflow.keras as hvd\n",
            "import horovod.tensorflow as hvd_tf\nimport horovod.tensorflow.keras as hvd\n",
        ),
        (_START, ""),
        (_COMPILE, _COMPILE + "hvd_tf.broadcast_variables(model.variables, root_rank=0)\n"),
    ),
    fails(2, "on the ranks that report")(
        (_EITHER, _EITHER.replace("each_epoch + reports", "at_the_start + each_epoch + reports"))
    ),
    fails(2, "one seed for the weights of all, but no --seed")(("args.seed + hvd.rank()", "args.seed")),
    # 3: a rank has one batch more
    repairs(3, "a number of steps that all ranks have")(
        (_AS_ALONE, "steps_per_epoch=len(x_train) // hvd.size() // args.batch_size,")
    ),
    repairs(3, "as many images on every rank")(
        (_OWN, "[: len(x_train) // hvd.size() * hvd.size()][hvd.rank() :: hvd.size()] for part in")
    ),
    fails(3, "one step less on rank 0")((_AS_ALONE, "steps_per_epoch=len(train_iter) - (hvd.rank() == 0),")),
    fails(3, "one part after the other")(
        (_OWN, "[hvd.rank() * len(part) // hvd.size() : (hvd.rank() + 1) * len(part) // hvd.size()] for part in")
    ),
    # 4: one rank validates
    repairs(4, "the same arguments everywhere")((_TO_REPORTERS, "")),
    repairs(4, "given in fit")(
        (
            "    **validation(),\n",
            "    validation_data=(batch for batch in test_iter),\n"
            "    validation_steps=3 * len(test_iter) // hvd.size(),\n",
        )
    ),
    fails(4, "averaged by one rank")(
        (
            "callbacks.append(hvd.callbacks.MetricAverageCallback())\n",
            "if verbose:\n    callbacks.append(hvd.callbacks.MetricAverageCallback())\n",
        )
    ),
    fails(4, "validated by no rank")(("if not verbose:\n        return {}", "if args.epochs:\n        return {}")),
    # 5: the process in the name of a tensor
    repairs(5, "a prefix that all ranks have")(('.{os.getpid()}"', '"')),
    repairs(5, "a name that is written out", in_ci=True)(("{self.prefix}.values", "mean_metrics")),
    repairs(5, "Horovod's callback")(
        ("callbacks.append(AverageMetrics())\n", "callbacks.append(hvd.callbacks.MetricAverageCallback())\n")
    ),
    fails(5, "one name, and the means in a dictionary that no other callback sees", in_ci=True)(
        ('.{os.getpid()}"', '"'), ("logs.update(zip(", "logs = dict(zip(")
    ),
    # 6: ranks that return before the optimizer is wrapped
    repairs(6, "wrapped on both ways")(
        (
            "    if not verbose:\n        return opt\n",
            "    if not verbose:\n        return hvd.DistributedOptimizer(opt)\n",
        )
    ),
    repairs(6, "wrapped where it is compiled")(
        ("optimizer=make_optimizer()", "optimizer=hvd.DistributedOptimizer(make_optimizer())"),
        ("return hvd.DistributedOptimizer(opt)", "return opt"),
    ),
    fails(6, "wrapped on no rank")(("return hvd.DistributedOptimizer(opt)", "return opt")),
    fails(6, "wrapped on the other ranks")(
        ("        return opt\n", "        return hvd.DistributedOptimizer(opt)\n"),
        ("    return hvd.DistributedOptimizer(opt)\n\n", "    return opt\n\n"),
    ),
    # 7: stopped before averaging
    repairs(7, "averaged before the schedule")(
        (_STOP + _AVERAGE, _STOP),
        (
            "    tf.keras.callbacks.LearningRateScheduler(lr_schedule),\n",
            f"{_AVERAGE}    tf.keras.callbacks.LearningRateScheduler(lr_schedule),\n",
        ),
    ),
    repairs(7, "stopping added last")(
        (_STOP, ""),
        (f"{_AVERAGE}]\n", f"{_AVERAGE}]\ncallbacks.append(StopAtAccuracy(args.target_accuracy, args.patience))\n"),
    ),
    fails(7, "stopped by rank 0")(
        (_STOP, ""),
        (
            "if verbose:\n    callbacks",
            f"if verbose:\n    callbacks.append({_STOP.strip().rstrip(',')})\n    callbacks",
        ),
    ),
    fails(7, "never stopped")((_STOP, "")),
    # 8: one seed for the iterators of all ranks
    repairs(8, "the rank added")(("seed=shuffle_seed)", "seed=shuffle_seed + 1000 * hvd.rank())")),
    repairs(8, "no seed of their own")((", seed=shuffle_seed)", ")")),
    fails(8, "another seed for all")(("2016 if args.seed is None", "hvd.size() if args.seed is None")),
    # 9: GPUs by rank
    repairs(9, "by local rank")(("mine = hvd.rank() if", "mine = hvd.local_rank() if")),
    repairs(9, "the rank less those of the hosts before")(
        ("mine = hvd.rank() if", "mine = hvd.rank() - hvd.cross_rank() * hvd.local_size() if")
    ),
    fails(9, "the ranks go round the GPUs")(("gpus[mine]", "gpus[mine % len(gpus)]")),
    # 10: shares of one host
    repairs(10, "shared among all ranks")(("batches // hvd.local_size()", "batches // hvd.size()")),
    repairs(10, "rounded up")(("batches // hvd.local_size()", "-(-batches // hvd.size())")),
    fails(10, "shared among hosts")(("batches // hvd.local_size()", "batches // hvd.cross_size()")),
    # 11: metrics that are added up
    repairs(11, "the mean")((', op=hvd.Sum, name="metrics"', ', name="metrics"')),
    repairs(11, "divided by the ranks")(("shared.numpy().tolist()", "(shared.numpy() / hvd.size()).tolist()")),
    repairs(11, "Horovod's callback")(
        ("callbacks.append(ShareMetrics())\n", "callbacks.append(hvd.callbacks.MetricAverageCallback())\n")
    ),
    fails(11, "divided by the ranks of a host")(
        ("shared.numpy().tolist()", "(shared.numpy() / hvd.local_size()).tolist()")
    ),
    # 12: a process of each host reports
    repairs(12, "by rank")(("if hvd.local_rank() else reporters", "if hvd.rank() else reporters")),
    repairs(12, "where fit is verbose")(
        ("callbacks += [] if hvd.local_rank() else reporters\n", "if verbose:\n    callbacks.extend(reporters)\n")
    ),
    fails(12, "a folder for each host")(
        ("TensorBoard(args.log_dir)", 'TensorBoard(f"{args.log_dir}/host_{hvd.cross_rank()}")')
    ),
    # 13: nothing is wrong
    repairs(13, "a comment", in_ci=True)(
        ("callbacks.append(PrintLosses())\n", "callbacks.append(PrintLosses())  # of each rank's own images\n")
    ),
    repairs(13, "the losses are no longer printed")(("callbacks.append(PrintLosses())\n", "")),
    fails(13, "the same images on all ranks")(
        ("y_train, batch_size=args.batch_size)", "y_train, batch_size=args.batch_size, shuffle=False)")
    ),
    fails(13, "a sum of the gradients", in_ci=True)(
        ("hvd.DistributedOptimizer(opt)", "hvd.DistributedOptimizer(opt, op=hvd.Sum)")
    ),
    fails(13, "all images on every rank")(
        ("steps_per_epoch=len(train_iter) // hvd.size()", "steps_per_epoch=len(train_iter)")
    ),
]

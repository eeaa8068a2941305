"""Wrong scripts of the first part, steps 1 to 6: each has one mistake that learners make."""

from tests.corpus.horovod_passages import (
    AFTER_6,
    ARGS,
    AVERAGE,
    AVERAGE_CALLBACK,
    BROADCAST,
    BROADCAST_CALLBACK,
    CHOICE,
    COMPILE,
    FIT,
    FLOW,
    GIVEN,
    GROW_EACH,
    GROWTH,
    GUARD,
    IMPORT,
    IMPORT_BOTH,
    INIT,
    LIST,
    LIST_OF_CALLBACKS,
    MODEL,
    PIN,
    REPORTERS,
    RESULTS,
    SCHEDULE,
    SGD,
    START,
    STARTERS_VERBOSE,
    STOP,
    TENSORBOARD,
    TEST_ONCE,
    TRAIN,
    VALIDATE,
    VERBOSE,
    VISIBLE,
    WRAP,
    own_callback,
    own_model,
)
from tests.corpus.variant import passage, wrong

_IMPORT_TODO = passage(START, "# TODO: Step 1: import")
_INIT_TODO = passage(START, "# TODO: Step 1: init")

_STEP_1 = (
    wrong(1, "imported but never initialised", (_IMPORT_TODO, IMPORT), check="initialised", base=START),
    wrong(1, "init named but not called", (_IMPORT_TODO, IMPORT), (_INIT_TODO, "hvd.init  # noqa\n"), base=START),
    wrong(
        1, "initialised after the model", (_IMPORT_TODO, IMPORT), (MODEL, MODEL + INIT), check="initialised", base=START
    ),
    wrong(1, "initialised after compile", (_IMPORT_TODO, IMPORT), (COMPILE, COMPILE + INIT), base=START),
    wrong(1, "initialised but not pinned", (_IMPORT_TODO, IMPORT), (_INIT_TODO, INIT), check="pinned", base=START),
    wrong(1, "Horovod never imported", (IMPORT, ""), fails=0),
    wrong(1, "no init before the local rank", (INIT, ""), fails=0),
    wrong(1, "init after the pinning", (INIT, ""), (PIN, PIN + INIT), fails=0),
    wrong(1, "init on several ranks only", (INIT, "if hvd.size() > 1:\n    hvd.init()\n"), fails=0),
    wrong(1, "init only where there are GPUs", (INIT, ""), (PIN, PIN.replace("if gpus:\n", f"if gpus:\n    {INIT}"))),
    wrong(1, "another framework's Horovod", (IMPORT, "import horovod.torch as hvd\n"), fails=0),
    wrong(1, "pinned by rank", (CHOICE, "gpus[hvd.rank()]"), check="pinned"),
    wrong(1, "pinned by host", (CHOICE, "gpus[hvd.cross_rank()]")),
    wrong(1, "always the first GPU", (CHOICE, "gpus[0]"), check="pinned"),
    wrong(1, "always the last local GPU", (CHOICE, "gpus[hvd.local_size() - 1]")),
    wrong(1, "GPU of the local size", (CHOICE, "gpus[hvd.local_size()]"), check="pinned"),
    wrong(1, "a rule for two GPUs at most", (CHOICE, "gpus[hvd.local_rank() % 2]"), check="pinned"),
    wrong(1, "GPU numbers from one on", (CHOICE, "gpus[hvd.local_rank() + 1]"), check="pinned"),
    wrong(1, "all GPUs visible", (VISIBLE, ""), check="pinned"),
    wrong(1, "every GPU made visible", (VISIBLE, '    tf.config.set_visible_devices(gpus, "GPU")\n')),
    wrong(
        1,
        "GPUs from the local rank on",
        (VISIBLE, '    tf.config.set_visible_devices(gpus[hvd.local_rank() :], "GPU")\n'),
    ),
    wrong(1, "GPUs hidden from all", (VISIBLE, '    tf.config.set_visible_devices([], "GPU")\n')),
    wrong(1, "no memory growth", (GROWTH, ""), check="memory_grows"),
    wrong(
        1,
        "memory growth turned off",
        ("set_memory_growth(gpu, True)", "set_memory_growth(gpu, False)"),
        check="memory_grows",
    ),
    wrong(
        1,
        "memory growth on the first GPU",
        ("set_memory_growth(gpu,", "set_memory_growth(gpus[0],"),
        check="memory_grows",
    ),
    wrong(
        1,
        "memory growth on rank 0 alone",
        (GROWTH, "    if hvd.rank() == 0:\n        tf.config.experimental.set_memory_growth(gpu, True)\n"),
        check="memory_grows",
    ),
    wrong(1, "fails without GPUs", (GUARD, ""), ("if gpus:\n", "if True:\n"), check="without_gpus", in_ci=True),
    wrong(
        1, "asks for GPUs", (LIST, f'{LIST}if not gpus:\n    raise SystemExit("no GPU here")\n'), check="without_gpus"
    ),
    wrong(
        1,
        "CUDA_VISIBLE_DEVICES by rank",
        (LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.rank())\n{LIST}'),
        (PIN, GROW_EACH),
    ),
    wrong(
        1,
        "CUDA_VISIBLE_DEVICES after the GPUs were listed",
        (PIN, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{GROW_EACH}'),
    ),
    wrong(
        1,
        "CUDA_VISIBLE_DEVICES and an index as well",
        (LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{LIST}'),
        (GUARD, ""),
        check="pinned",
    ),
    wrong(
        1,
        "CUDA_VISIBLE_DEVICES, and ranks without a GPU continue",
        (LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{LIST}'),
        (PIN, GROW_EACH),
        check="enough_gpus",
    ),
    wrong(1, "no check of the number of GPUs", (GUARD, ""), check="enough_gpus"),
    wrong(
        1,
        "ranks without a GPU share another's",
        (GUARD, ""),
        (CHOICE, "gpus[hvd.local_rank() % len(gpus)]"),
        check="enough_gpus",
    ),
    wrong(
        1,
        "ranks without a GPU use the CPU",
        (GUARD, ""),
        ("if gpus:\n", "if hvd.local_rank() < len(gpus):\n"),
        check="enough_gpus",
    ),
    wrong(
        1,
        "more ranks than GPUs is a warning only",
        ("raise SystemExit(f", "print(f"),
        (CHOICE, "gpus[hvd.local_rank() % len(gpus)]"),
        check="enough_gpus",
    ),
    wrong(
        1,
        "more ranks than GPUs without a message",
        (GUARD, "    if hvd.local_size() > len(gpus):\n        raise SystemExit(1)\n"),
        check="enough_gpus",
    ),
    wrong(
        1,
        "more ranks than GPUs as if all was well",
        (GUARD, '    if hvd.local_size() > len(gpus):\n        print("too few GPUs")\n        raise SystemExit\n'),
        check="enough_gpus",
    ),
    wrong(
        1, "as many ranks as GPUs required", ("hvd.local_size() > len", "hvd.local_size() != len"), check="enough_gpus"
    ),
    wrong(
        1,
        "more ranks of the job than GPUs of the host",
        ("hvd.local_size() > len", "hvd.size() > len"),
        check="enough_gpus",
    ),
    wrong(6, "no check of the number of GPUs at step 6", (GUARD, ""), fails=1),
    wrong(1, "GPUs used before they are chosen", (LIST, f'{LIST}tf.config.list_logical_devices("GPU")\n'), fails=0),
    wrong(1, "pinned after tensors are made", (LIST, f"tf.zeros(1)\n{LIST}"), fails=0),
    wrong(1, "pinned after the model", (PIN, ""), (MODEL, MODEL + PIN), fails=0),
    wrong(1, "an argument of its own", (ARGS, f'parser.add_argument("--ranks", required=True)\n{ARGS}'), fails=0),
)

_STEP_2 = (
    wrong(2, "pinned by rank at step 2", (CHOICE, "gpus[hvd.rank()]"), fails=1),
    wrong(2, "no init at step 2", (INIT, ""), fails=0),
    wrong(
        2,
        "verbose by local rank",
        (VERBOSE, "verbose = 1 if hvd.local_rank() == 0 else 0\n"),
        check="others_are_silent",
    ),
    wrong(2, "verbose by host", (VERBOSE, "verbose = 1 if hvd.cross_rank() == 0 else 0\n")),
    wrong(2, "verbose the wrong way round", (VERBOSE, "verbose = 0 if hvd.rank() == 0 else 1\n")),
    wrong(2, "verbose as the rank", (VERBOSE, "verbose = hvd.rank()\n")),
    wrong(2, "verbose on rank 1", (VERBOSE, "verbose = 1 if hvd.rank() == 1 else 0\n"), check="rank_0_reports"),
    wrong(2, "verbose on the last rank", (VERBOSE, "verbose = int(hvd.rank() == hvd.size() - 1)\n")),
    wrong(2, "rank not called", (VERBOSE, "verbose = 1 if hvd.rank == 0 else 0\n")),
    wrong(2, "rank compared with text", (VERBOSE, 'verbose = 1 if hvd.rank() == "0" else 0\n')),
    wrong(2, "no rank reports", (VERBOSE, "verbose = 0\n"), check="rank_0_reports"),
    wrong(2, "two lines on some ranks", (VERBOSE, "verbose = 1 if hvd.rank() == 0 else 2\n")),
    wrong(2, "verbose set back", (VERBOSE, VERBOSE + STARTERS_VERBOSE)),
    wrong(2, "verbose under another name", (VERBOSE, f"verbosity{VERBOSE[7:]}{STARTERS_VERBOSE}")),
    wrong(2, "fit not told verbose", ("    verbose=verbose,\n", "")),
    wrong(2, "fit told to be verbose", ("    verbose=verbose,\n", "    verbose=1,\n")),
    wrong(2, "evaluate not told verbose", ("(test_once, verbose=verbose)", "(test_once)"), in_ci=True),
    wrong(2, "results printed everywhere", (RESULTS, RESULTS.replace("if verbose:", "if True:"))),
    wrong(2, "one of the results printed everywhere", ('    print(f"Test acc', 'print(f"Test acc')),
    wrong(2, "reporters on all ranks", (REPORTERS, REPORTERS.replace("if verbose:", "if True:"))),
    wrong(
        2,
        "total time on all ranks",
        ("    callbacks.append(PrintTotalTime())\n", ""),
        (STOP, f"{STOP}callbacks.append(PrintTotalTime())\n"),
        check="others_are_silent",
    ),
    wrong(2, "TensorBoard's logs from every rank", (TENSORBOARD, TENSORBOARD.lstrip()), check="same_work"),
    wrong(2, "callbacks for rank 0 only", (GIVEN, "    callbacks=callbacks if verbose else None,\n")),
    wrong(2, "the schedule on rank 0 only", (SCHEDULE, f"if verbose:\n    {SCHEDULE}"), check="same_work"),
    wrong(2, "training on rank 0 only", (FIT, "verbose and model.fit(\n"), check="same_work"),
    wrong(2, "the others leave", (VERBOSE, f"{VERBOSE}if not verbose:\n    raise SystemExit\n")),
    wrong(
        2,
        "validation on rank 0 only",
        ('logs["val_accuracy"]', 'logs.get("val_accuracy", 0)'),
        ("=(batch for batch in test_iter)", "=(batch for batch in test_iter) if verbose else None"),
        check="same_work",
    ),
    wrong(2, "a greeting from every rank", (VERBOSE, f'{VERBOSE}print("This is rank", hvd.rank())\n')),
    wrong(2, "the model's summary from every rank", (MODEL, f"{MODEL}model.summary()\n")),
    wrong(
        2,
        "every rank logs its loss",
        ("import os\n", "import logging\nimport os\n"),
        (ARGS, f'{ARGS}logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)\n'),
        (
            LIST_OF_CALLBACKS,
            own_callback(
                "LogLoss",
                "on_epoch_end(self, epoch, logs=None)",
                'logging.info("rank %d has loss %.3f", hvd.rank(), logs["loss"])',
            ),
        ),
        (SCHEDULE, f"{SCHEDULE}callbacks.append(LogLoss())\n"),
        check="others_are_silent",
    ),
)

_STEP_3 = (
    wrong(3, "sum of gradients", (WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Sum)\n")),
    wrong(3, "wrapped and thrown away", (WRAP, "hvd.DistributedOptimizer(opt)\n")),
    wrong(3, "the unwrapped one compiled", (WRAP, "parallel = hvd.DistributedOptimizer(opt)\n")),
    wrong(3, "wrapped after compile", (WRAP, ""), (COMPILE, COMPILE + WRAP)),
    wrong(3, "made anew after wrapping", (WRAP, WRAP + SGD)),
    wrong(3, "another optimizer given to compile", ("optimizer=opt", 'optimizer="sgd"')),
    wrong(3, "wrapped on rank 0 only", (WRAP, f"if hvd.rank() == 0:\n    {WRAP}"), fails=0),
    wrong(3, "wrapped where the local rank is 0", (WRAP, f"if hvd.local_rank() == 0:\n    {WRAP}"), fails=0),
    wrong(3, "wrapped on all ranks but 0", (WRAP, f"if not verbose:\n    {WRAP}"), fails=0),
    wrong(3, "wrapped only where there are GPUs", (WRAP, f"if gpus:\n    {WRAP}")),
    wrong(3, "wrapped only on one host", (WRAP, f"if hvd.local_size() == hvd.size():\n    {WRAP}")),
    wrong(3, "wrapped twice", (WRAP, WRAP + WRAP), fails=0),
    wrong(3, "the class wrapped", (SGD, "opt = tf.keras.optimizers.SGD\n"), fails=0),
    wrong(3, "schedule times the ranks", ("return args.base_lr *", "return hvd.size() * args.base_lr *")),
    wrong(3, "rate times the ranks", ("args.base_lr", "hvd.size() * args.base_lr")),
    wrong(3, "loss divided by the ranks", ("optimizer=opt,", "optimizer=opt, loss_weights=[1 / hvd.size()],")),
    wrong(3, "schedule divided by the ranks", ("return args.base_lr *", "return args.base_lr / hvd.size() *")),
    wrong(3, "momentum added", ("learning_rate=args.base_lr)", "learning_rate=args.base_lr, momentum=0.9)")),
    wrong(3, "another kind of optimizer", ("tf.keras.optimizers.SGD(", "tf.keras.optimizers.Adam(")),
    wrong(
        3,
        "gradients summed in a training step",
        *own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.allreduce(gradient, op=hvd_tf.Sum) for gradient in gradients]",
        ),
    ),
    wrong(
        3,
        "a training step that averages nothing",
        *own_model("gradients = tape.gradient(loss, self.trainable_variables)"),
    ),
    wrong(
        3,
        "gradients of rank 0 for all",
        *own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.broadcast(gradient, root_rank=0) for gradient in gradients]",
        ),
    ),
    wrong(
        3,
        "only the first gradient averaged",
        *own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)", "gradients[0] = hvd_tf.allreduce(gradients[0])"
        ),
    ),
    wrong(3, "verbose by local rank at step 3", (VERBOSE, "verbose = 1 if hvd.local_rank() == 0 else 0\n"), fails=2),
)


def _broadcast_in(method: str, *body: str) -> tuple[tuple[str, str], ...]:
    return (
        (IMPORT, IMPORT_BOTH),
        (LIST_OF_CALLBACKS, own_callback("Broadcast", method, *body)),
        (BROADCAST, "callbacks.append(Broadcast())\n"),
    )


def _broadcast_once(line: str) -> tuple[tuple[str, str], ...]:
    return (IMPORT, IMPORT_BOTH), (BROADCAST, ""), (COMPILE, COMPILE + line)


_STEP_4 = (
    wrong(4, "broadcast made but not appended", (BROADCAST, f"broadcast = {BROADCAST_CALLBACK}\n")),
    wrong(4, "broadcast in another list", (BROADCAST, f"horovod_callbacks = [{BROADCAST_CALLBACK}]\n")),
    wrong(4, "list emptied after the broadcast", (BROADCAST, BROADCAST + LIST_OF_CALLBACKS)),
    wrong(4, "broadcast appended after fit", (BROADCAST, ""), (TEST_ONCE, BROADCAST + TEST_ONCE)),
    wrong(
        4,
        "broadcast given to evaluate",
        (BROADCAST, ""),
        ("(test_once, ", f"(test_once, callbacks=[{BROADCAST_CALLBACK}], "),
    ),
    wrong(4, "weights of rank 1", ("Callback(0)", "Callback(1)")),
    wrong(4, "weights of the last rank", ("Callback(0)", "Callback(root_rank=hvd.size() - 1)")),
    wrong(4, "each rank its own root", ("Callback(0)", "Callback(hvd.rank())")),
    wrong(4, "each local rank its own root", ("Callback(0)", "Callback(hvd.local_rank())")),
    wrong(4, "no root rank", ("Callback(0)", "Callback()"), fails=0),
    wrong(4, "the callback's class appended", ("Callback(0)", "Callback"), fails=0),
    wrong(4, "the callback sought in hvd", ("hvd.callbacks.Broad", "hvd.Broad"), fails=0),
    wrong(4, "no callbacks in this API", (IMPORT, "import horovod.tensorflow as hvd\n"), fails=0),
    wrong(4, "broadcast on rank 0 only", (BROADCAST, f"if verbose:\n    {BROADCAST}")),
    wrong(4, "broadcast among two ranks only", (BROADCAST, f"if hvd.size() == 2:\n    {BROADCAST}")),
    wrong(4, "broadcast on all ranks but 0", (BROADCAST, f"if hvd.rank() != 0:\n    {BROADCAST}")),
    wrong(4, "broadcast only where there are GPUs", (BROADCAST, f"if gpus:\n    {BROADCAST}")),
    wrong(4, "broadcast for graphs", *_broadcast_once("hvd.broadcast_global_variables(0)\n"), fails=0),
    wrong(
        4,
        "weights of another model broadcast",
        *_broadcast_once("hvd_tf.broadcast_variables(create_model().variables, root_rank=0)\n"),
    ),
    wrong(
        4,
        "last layer alone broadcast",
        *_broadcast_once("hvd_tf.broadcast_variables(model.layers[-1].variables, root_rank=0)\n"),
    ),
    wrong(
        4,
        "statistics alone broadcast",
        *_broadcast_once("hvd_tf.broadcast_variables(model.non_trainable_variables, root_rank=0)\n"),
    ),
    wrong(4, "optimizer alone broadcast", *_broadcast_once("hvd_tf.broadcast_variables(opt.variables, root_rank=0)\n")),
    wrong(
        4,
        "mean of the first weights",
        *_broadcast_once("for variable in model.variables:\n    variable.assign(hvd_tf.allreduce(variable))\n"),
    ),
    wrong(
        4,
        "weights received and not assigned",
        *_broadcast_once("for variable in model.variables:\n    hvd_tf.broadcast(variable, root_rank=0)\n"),
        in_ci=True,
    ),
    wrong(
        4,
        "broadcast after an epoch",
        *_broadcast_in(
            "on_epoch_end(self, epoch, logs=None)", "hvd_tf.broadcast_variables(self.model.variables, root_rank=0)"
        ),
    ),
    wrong(
        4,
        "broadcast after training",
        *_broadcast_in(
            "on_train_end(self, logs=None)", "hvd_tf.broadcast_variables(self.model.variables, root_rank=0)"
        ),
    ),
    wrong(
        4,
        "broadcast after the second batch",
        *_broadcast_in(
            "on_train_batch_end(self, batch, logs=None)",
            "if batch == 1:",
            "    hvd_tf.broadcast_variables(self.model.variables, root_rank=0)",
        ),
    ),
    wrong(4, "sum of gradients at step 4", (WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Sum)\n"), fails=3),
)

_UNSHARED = "steps_per_epoch=len(train_iter),"

_STEP_5 = (
    wrong(5, "training not shared", (TRAIN, _UNSHARED), check="training_steps"),
    wrong(5, "validation not shared", (VALIDATE, "validation_steps=3 * len(test_iter),"), check="validation_steps"),
    wrong(5, "validation left as it was", (VALIDATE, "validation_steps=len(test_iter),"), check="validation_steps"),
    wrong(
        5,
        "one pass over the test set",
        (VALIDATE, "validation_steps=len(test_iter) // hvd.size(),"),
        check="validation_steps",
    ),
    wrong(5, "three passes over the training set", (TRAIN, "steps_per_epoch=3 * len(train_iter) // hvd.size(),")),
    wrong(
        5,
        "three at the wrong place",
        (TRAIN, "steps_per_epoch=3 * len(train_iter) // hvd.size(),"),
        (VALIDATE, "validation_steps=len(test_iter) // hvd.size(),"),
    ),
    wrong(5, "validation divided twice", (VALIDATE, f"{VALIDATE[:-1]} // hvd.size(),")),
    wrong(5, "divided by the local size", ("// hvd.size()", "// hvd.local_size()")),
    wrong(5, "training divided by the local size", (TRAIN, f"{TRAIN[:-11]}hvd.local_size(),"), check="training_steps"),
    wrong(5, "divided by two", ("// hvd.size()", "// 2")),
    wrong(
        5,
        "validation divided by two",
        (VALIDATE, "validation_steps=3 * len(test_iter) // 2,"),
        check="validation_steps",
    ),
    wrong(5, "multiplied", (TRAIN, "steps_per_epoch=len(train_iter) * hvd.size(),")),
    wrong(5, "images in place of batches", (TRAIN, "steps_per_epoch=len(x_train) // hvd.size(),")),
    wrong(5, "test images in place of batches", (VALIDATE, "validation_steps=3 * len(x_test) // hvd.size(),")),
    wrong(
        5,
        "divided twice",
        (TRAIN, "steps_per_epoch=len(train_iter) // hvd.size() // hvd.size(),"),
        check="training_steps",
        in_ci=True,
    ),
    wrong(5, "training and test set confused", ("len(test_iter)", "len(train_iter)")),
    wrong(5, "training by the test set's batches", (TRAIN, "steps_per_epoch=len(test_iter) // hvd.size(),")),
    wrong(5, "shared on rank 0 only", (TRAIN, f"{TRAIN[:-1]} if verbose else len(train_iter),")),
    wrong(5, "divided by the rank and one", (TRAIN, "steps_per_epoch=len(train_iter) // (hvd.rank() + 1),")),
    wrong(
        5,
        "what is left over to the first ranks",
        (TRAIN, f"{TRAIN[:-1]} + (hvd.rank() < len(train_iter) % hvd.size()),"),
        check="training_steps",
    ),
    wrong(
        5,
        "batches of all ranks on each",
        (FLOW, f"{FLOW[:-2]} * hvd.size())\n"),
        (TRAIN, "steps_per_epoch=len(x_train) // args.batch_size // hvd.size(),"),
    ),
    wrong(
        5,
        "one share for all ranks",
        (
            FLOW,
            "share = len(x_train) // hvd.size()\n"
            + FLOW.replace("x_train, y_train", "x_train[:share], y_train[:share]"),
        ),
        (TRAIN, "steps_per_epoch=len(train_iter),"),
        check="training_steps",
    ),
    wrong(
        5,
        "smaller batches in place of fewer",
        (FLOW, FLOW.replace("args.batch_size", "max(1, args.batch_size // hvd.size())")),
        (TRAIN, "steps_per_epoch=len(x_train) // args.batch_size // hvd.size(),"),
        check="training_steps",
    ),
    wrong(5, "one order for all ranks", (FLOW, f"{FLOW[:-2]}, shuffle=False)\n")),
    wrong(5, "one seed for all ranks", (FLOW, f"{FLOW[:-2]}, seed=1)\n")),
    wrong(
        5,
        "training data that end after one pass",
        ("    (batch for batch in train_iter),\n", "    (train_iter[i] for i in range(len(train_iter))),\n"),
    ),
    wrong(5, "divided by the rank", (TRAIN, "steps_per_epoch=len(train_iter) // hvd.rank(),"), fails=0),
    wrong(5, "size not called", (TRAIN, "steps_per_epoch=len(train_iter) // hvd.size,"), fails=0),
    wrong(5, "weights of rank 1 at step 5", ("Callback(0)", "Callback(1)"), fails=4),
)

_LOOP = "for name, value in sorted(logs.items()):"


def _average_in(method: str, *body: str) -> tuple[tuple[str, str], ...]:
    return (
        (LIST_OF_CALLBACKS, own_callback("AverageMetrics", method, *body)),
        (AVERAGE, "callbacks.append(AverageMetrics())\n"),
    )


_AT_END = "on_epoch_end(self, epoch, logs=None)"
_REACHED = passage(AFTER_6, "self.reached = self.reached + 1")
_LEAST = f"""        least = float(hvd_tf.allreduce(tf.constant(logs["val_accuracy"]), op=hvd_tf.Min))
{_REACHED.replace('logs["val_accuracy"]', "least")}"""

_STEP_6 = (
    wrong(6, "averaged after stopping", (AVERAGE, ""), (STOP, STOP + AVERAGE)),
    wrong(6, "averaged last", (AVERAGE, ""), (REPORTERS, REPORTERS + AVERAGE)),
    wrong(
        6,
        "averaged last in the call of fit",
        (AVERAGE, ""),
        (GIVEN, f"    callbacks=[*callbacks, {AVERAGE_CALLBACK}],\n"),
    ),
    wrong(6, "stopping inserted at the front", (STOP, STOP.replace("append(", "insert(0, "))),
    wrong(6, "callbacks in reverse", (GIVEN, "    callbacks=callbacks[::-1],\n")),
    wrong(6, "averaging made but not appended", (AVERAGE, f"average = {AVERAGE_CALLBACK}\n")),
    wrong(6, "averaging in another list", (AVERAGE, f"horovod_callbacks = [{AVERAGE_CALLBACK}]\n")),
    wrong(6, "averaging appended after fit", (AVERAGE, ""), (TEST_ONCE, AVERAGE + TEST_ONCE)),
    wrong(
        6,
        "averaging given to evaluate",
        (AVERAGE, ""),
        ("(test_once, ", f"(test_once, callbacks=[{AVERAGE_CALLBACK}], "),
    ),
    wrong(6, "averaged on rank 0 only", (AVERAGE, f"if verbose:\n    {AVERAGE}")),
    wrong(6, "averaged on all ranks but 0", (AVERAGE, f"if not verbose:\n    {AVERAGE}")),
    wrong(6, "averaged after TensorBoard", (AVERAGE, f"{REPORTERS}{AVERAGE}"), (f"{STOP}\n{REPORTERS}", STOP)),
    wrong(
        6,
        "averaged in the first epoch only",
        (
            LIST_OF_CALLBACKS,
            own_callback(
                "AverageMetrics",
                "on_epoch_end(self, epoch, logs=None)",
                "if epoch == 0:",
                "    for name in sorted(logs):",
                "        logs[name] = float(hvd.allreduce(logs[name], name=name))",
            ),
        ),
        (AVERAGE, "callbacks.append(AverageMetrics())\n"),
    ),
    wrong(
        6,
        "only what stops is averaged",
        (
            LIST_OF_CALLBACKS,
            own_callback(
                "AverageMetrics",
                "on_epoch_end(self, epoch, logs=None)",
                'logs["val_accuracy"] = float(hvd.allreduce(logs["val_accuracy"]))',
            ),
        ),
        (AVERAGE, "callbacks.append(AverageMetrics())\n"),
    ),
    wrong(6, "averaged only where there are GPUs", (AVERAGE, f"if gpus:\n    {AVERAGE}")),
    wrong(6, "the averaging callback sought in hvd", ("hvd.callbacks.Metric", "hvd.Metric"), fails=0),
    wrong(6, "the averaging callback's class appended", ("AverageCallback()", "AverageCallback"), fails=0),
    wrong(6, "stopping on rank 0 only", (STOP, f"if verbose:\n    {STOP}"), in_ci=True),
    wrong(6, "no stopping at all", (STOP, "")),
    wrong(6, "stopping by the accuracy of the worst rank", (IMPORT, IMPORT_BOTH), (AVERAGE, ""), (_REACHED, _LEAST)),
    wrong(6, "stopping by the training's accuracy", ('logs["val_accuracy"]', 'logs["accuracy"]')),
    wrong(
        6,
        "metrics summed",
        *_average_in(_AT_END, _LOOP, "    logs[name] = float(hvd.allreduce(float(value), op=hvd.Sum))"),
    ),
    wrong(
        6,
        "metrics divided by the local size",
        *_average_in(
            _AT_END,
            _LOOP,
            "    total = hvd.allreduce(float(value), op=hvd.Sum)",
            "    logs[name] = float(total) / hvd.local_size()",
        ),
    ),
    wrong(
        6,
        "only the loss averaged",
        *_average_in(
            _AT_END, _LOOP, '    if name == "val_loss":', "        logs[name] = float(hvd.allreduce(float(value)))"
        ),
    ),
    wrong(
        6,
        "means kept in another dictionary",
        *_average_in(
            _AT_END, "logs = {name: float(hvd.allreduce(float(value))) for name, value in sorted(logs.items())}"
        ),
    ),
    wrong(6, "means thrown away", *_average_in(_AT_END, _LOOP, "    hvd.allreduce(float(value))")),
    wrong(
        6,
        "metrics of rank 0 for all",
        *_average_in(_AT_END, _LOOP, "    logs[name] = float(hvd.broadcast(float(value), root_rank=0))"),
    ),
    wrong(
        6,
        "averaged as an epoch begins",
        *_average_in(
            "on_epoch_begin(self, epoch, logs=None)",
            "for name, value in sorted((logs or {}).items()):",
            "    logs[name] = float(hvd.allreduce(float(value)))",
        ),
    ),
    wrong(6, "epoch not shared at step 6", (TRAIN, _UNSHARED), fails=5),
    wrong(6, "fit renamed", (FIT, "model.train(\n"), fails=0),
)

WRONG = (*_STEP_1, *_STEP_2, *_STEP_3, *_STEP_4, *_STEP_5, *_STEP_6)

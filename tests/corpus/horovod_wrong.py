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
from tests.corpus.variant import Variant, passage

_IMPORT_TODO = passage(START, "# TODO: Step 1: import")
_INIT_TODO = passage(START, "# TODO: Step 1: init")

_STEP_1 = (
    Variant("imported but never initialised", 1, ((_IMPORT_TODO, IMPORT),), 1, START, check="initialised"),
    Variant("init named but not called", 1, ((_IMPORT_TODO, IMPORT), (_INIT_TODO, "hvd.init  # noqa\n")), 1, START),
    Variant(
        "initialised after the model", 1, ((_IMPORT_TODO, IMPORT), (MODEL, MODEL + INIT)), 1, START, check="initialised"
    ),
    Variant("initialised after compile", 1, ((_IMPORT_TODO, IMPORT), (COMPILE, COMPILE + INIT)), 1, START),
    Variant("initialised but not pinned", 1, ((_IMPORT_TODO, IMPORT), (_INIT_TODO, INIT)), 1, START, check="pinned"),
    Variant("Horovod never imported", 1, ((IMPORT, ""),), 0),
    Variant("no init before the local rank", 1, ((INIT, ""),), 0),
    Variant("init after the pinning", 1, ((INIT, ""), (PIN, PIN + INIT)), 0),
    Variant("init on several ranks only", 1, ((INIT, "if hvd.size() > 1:\n    hvd.init()\n"),), 0),
    Variant(
        "init only where there are GPUs", 1, ((INIT, ""), (PIN, PIN.replace("if gpus:\n", f"if gpus:\n    {INIT}"))), 1
    ),
    Variant("another framework's Horovod", 1, ((IMPORT, "import horovod.torch as hvd\n"),), 0),
    Variant("pinned by rank", 1, ((CHOICE, "gpus[hvd.rank()]"),), 1, check="pinned"),
    Variant("pinned by host", 1, ((CHOICE, "gpus[hvd.cross_rank()]"),), 1),
    Variant("always the first GPU", 1, ((CHOICE, "gpus[0]"),), 1, check="pinned"),
    Variant("always the last local GPU", 1, ((CHOICE, "gpus[hvd.local_size() - 1]"),), 1),
    Variant("GPU of the local size", 1, ((CHOICE, "gpus[hvd.local_size()]"),), 1, check="pinned"),
    Variant("a rule for two GPUs at most", 1, ((CHOICE, "gpus[hvd.local_rank() % 2]"),), 1, check="pinned"),
    Variant("GPU numbers from one on", 1, ((CHOICE, "gpus[hvd.local_rank() + 1]"),), 1, check="pinned"),
    Variant("all GPUs visible", 1, ((VISIBLE, ""),), 1, check="pinned"),
    Variant("every GPU made visible", 1, ((VISIBLE, '    tf.config.set_visible_devices(gpus, "GPU")\n'),), 1),
    Variant(
        "GPUs from the local rank on",
        1,
        ((VISIBLE, '    tf.config.set_visible_devices(gpus[hvd.local_rank() :], "GPU")\n'),),
        1,
    ),
    Variant("GPUs hidden from all", 1, ((VISIBLE, '    tf.config.set_visible_devices([], "GPU")\n'),), 1),
    Variant("no memory growth", 1, ((GROWTH, ""),), 1, check="memory_grows"),
    Variant(
        "memory growth turned off",
        1,
        (("set_memory_growth(gpu, True)", "set_memory_growth(gpu, False)"),),
        1,
        check="memory_grows",
    ),
    Variant(
        "memory growth on the first GPU",
        1,
        (("set_memory_growth(gpu,", "set_memory_growth(gpus[0],"),),
        1,
        check="memory_grows",
    ),
    Variant(
        "memory growth on rank 0 alone",
        1,
        ((GROWTH, "    if hvd.rank() == 0:\n        tf.config.experimental.set_memory_growth(gpu, True)\n"),),
        1,
        check="memory_grows",
    ),
    Variant("fails without GPUs", 1, ((GUARD, ""), ("if gpus:\n", "if True:\n")), 1, check="without_gpus", in_ci=True),
    Variant(
        "asks for GPUs",
        1,
        ((LIST, f'{LIST}if not gpus:\n    raise SystemExit("no GPU here")\n'),),
        1,
        check="without_gpus",
    ),
    Variant(
        "CUDA_VISIBLE_DEVICES by rank",
        1,
        ((LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.rank())\n{LIST}'), (PIN, GROW_EACH)),
        1,
    ),
    Variant(
        "CUDA_VISIBLE_DEVICES after the GPUs were listed",
        1,
        ((PIN, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{GROW_EACH}'),),
        1,
    ),
    Variant(
        "CUDA_VISIBLE_DEVICES and an index as well",
        1,
        ((LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{LIST}'), (GUARD, "")),
        1,
        check="pinned",
    ),
    Variant(
        "CUDA_VISIBLE_DEVICES, and ranks without a GPU continue",
        1,
        ((LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{LIST}'), (PIN, GROW_EACH)),
        1,
        check="enough_gpus",
    ),
    Variant("no check of the number of GPUs", 1, ((GUARD, ""),), 1, check="enough_gpus"),
    Variant(
        "ranks without a GPU share another's",
        1,
        ((GUARD, ""), (CHOICE, "gpus[hvd.local_rank() % len(gpus)]")),
        1,
        check="enough_gpus",
    ),
    Variant(
        "ranks without a GPU use the CPU",
        1,
        ((GUARD, ""), ("if gpus:\n", "if hvd.local_rank() < len(gpus):\n")),
        1,
        check="enough_gpus",
    ),
    Variant(
        "more ranks than GPUs is a warning only",
        1,
        (("raise SystemExit(f", "print(f"), (CHOICE, "gpus[hvd.local_rank() % len(gpus)]")),
        1,
        check="enough_gpus",
    ),
    Variant(
        "more ranks than GPUs without a message",
        1,
        ((GUARD, "    if hvd.local_size() > len(gpus):\n        raise SystemExit(1)\n"),),
        1,
        check="enough_gpus",
    ),
    Variant(
        "more ranks than GPUs as if all was well",
        1,
        ((GUARD, '    if hvd.local_size() > len(gpus):\n        print("too few GPUs")\n        raise SystemExit\n'),),
        1,
        check="enough_gpus",
    ),
    Variant(
        "as many ranks as GPUs required",
        1,
        (("hvd.local_size() > len", "hvd.local_size() != len"),),
        1,
        check="enough_gpus",
    ),
    Variant(
        "more ranks of the job than GPUs of the host",
        1,
        (("hvd.local_size() > len", "hvd.size() > len"),),
        1,
        check="enough_gpus",
    ),
    Variant("no check of the number of GPUs at step 6", 6, ((GUARD, ""),), 1),
    Variant(
        "GPUs used before they are chosen",
        1,
        ((LIST, f'{LIST}tf.config.list_logical_devices("GPU")\n'),),
        0,
    ),
    Variant("pinned after tensors are made", 1, ((LIST, f"tf.zeros(1)\n{LIST}"),), 0),
    Variant("pinned after the model", 1, ((PIN, ""), (MODEL, MODEL + PIN)), 0),
    Variant("an argument of its own", 1, ((ARGS, f'parser.add_argument("--ranks", required=True)\n{ARGS}'),), 0),
)

_STEP_2 = (
    Variant("pinned by rank at step 2", 2, ((CHOICE, "gpus[hvd.rank()]"),), 1),
    Variant("no init at step 2", 2, ((INIT, ""),), 0),
    Variant(
        "verbose by local rank",
        2,
        ((VERBOSE, "verbose = 1 if hvd.local_rank() == 0 else 0\n"),),
        2,
        check="others_are_silent",
    ),
    Variant("verbose by host", 2, ((VERBOSE, "verbose = 1 if hvd.cross_rank() == 0 else 0\n"),), 2),
    Variant("verbose the wrong way round", 2, ((VERBOSE, "verbose = 0 if hvd.rank() == 0 else 1\n"),), 2),
    Variant("verbose as the rank", 2, ((VERBOSE, "verbose = hvd.rank()\n"),), 2),
    Variant(
        "verbose on rank 1",
        2,
        ((VERBOSE, "verbose = 1 if hvd.rank() == 1 else 0\n"),),
        2,
        check="rank_0_reports",
    ),
    Variant("verbose on the last rank", 2, ((VERBOSE, "verbose = int(hvd.rank() == hvd.size() - 1)\n"),), 2),
    Variant("rank not called", 2, ((VERBOSE, "verbose = 1 if hvd.rank == 0 else 0\n"),), 2),
    Variant("rank compared with text", 2, ((VERBOSE, 'verbose = 1 if hvd.rank() == "0" else 0\n'),), 2),
    Variant("no rank reports", 2, ((VERBOSE, "verbose = 0\n"),), 2, check="rank_0_reports"),
    Variant("two lines on some ranks", 2, ((VERBOSE, "verbose = 1 if hvd.rank() == 0 else 2\n"),), 2),
    Variant("verbose set back", 2, ((VERBOSE, VERBOSE + STARTERS_VERBOSE),), 2),
    Variant("verbose under another name", 2, ((VERBOSE, f"verbosity{VERBOSE[7:]}{STARTERS_VERBOSE}"),), 2),
    Variant("fit not told verbose", 2, (("    verbose=verbose,\n", ""),), 2),
    Variant("fit told to be verbose", 2, (("    verbose=verbose,\n", "    verbose=1,\n"),), 2),
    Variant("evaluate not told verbose", 2, (("(test_once, verbose=verbose)", "(test_once)"),), 2, in_ci=True),
    Variant("results printed everywhere", 2, ((RESULTS, RESULTS.replace("if verbose:", "if True:")),), 2),
    Variant("one of the results printed everywhere", 2, (('    print(f"Test acc', 'print(f"Test acc'),), 2),
    Variant("reporters on all ranks", 2, ((REPORTERS, REPORTERS.replace("if verbose:", "if True:")),), 2),
    Variant(
        "total time on all ranks",
        2,
        (("    callbacks.append(PrintTotalTime())\n", ""), (STOP, f"{STOP}callbacks.append(PrintTotalTime())\n")),
        2,
        check="others_are_silent",
    ),
    Variant(
        "TensorBoard's logs from every rank",
        2,
        ((TENSORBOARD, TENSORBOARD.lstrip()),),
        2,
        check="same_work",
    ),
    Variant("callbacks for rank 0 only", 2, ((GIVEN, "    callbacks=callbacks if verbose else None,\n"),), 2),
    Variant("the schedule on rank 0 only", 2, ((SCHEDULE, f"if verbose:\n    {SCHEDULE}"),), 2, check="same_work"),
    Variant("training on rank 0 only", 2, ((FIT, "verbose and model.fit(\n"),), 2, check="same_work"),
    Variant("the others leave", 2, ((VERBOSE, f"{VERBOSE}if not verbose:\n    raise SystemExit\n"),), 2),
    Variant(
        "validation on rank 0 only",
        2,
        (
            ('logs["val_accuracy"]', 'logs.get("val_accuracy", 0)'),
            ("=(batch for batch in test_iter)", "=(batch for batch in test_iter) if verbose else None"),
        ),
        2,
        check="same_work",
    ),
    Variant("a greeting from every rank", 2, ((VERBOSE, f'{VERBOSE}print("This is rank", hvd.rank())\n'),), 2),
    Variant("the model's summary from every rank", 2, ((MODEL, f"{MODEL}model.summary()\n"),), 2),
    Variant(
        "every rank logs its loss",
        2,
        (
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
        ),
        2,
        check="others_are_silent",
    ),
)

_STEP_3 = (
    Variant("sum of gradients", 3, ((WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Sum)\n"),), 3),
    Variant("wrapped and thrown away", 3, ((WRAP, "hvd.DistributedOptimizer(opt)\n"),), 3),
    Variant("the unwrapped one compiled", 3, ((WRAP, "parallel = hvd.DistributedOptimizer(opt)\n"),), 3),
    Variant("wrapped after compile", 3, ((WRAP, ""), (COMPILE, COMPILE + WRAP)), 3),
    Variant("made anew after wrapping", 3, ((WRAP, WRAP + SGD),), 3),
    Variant("another optimizer given to compile", 3, (("optimizer=opt", 'optimizer="sgd"'),), 3),
    Variant("wrapped on rank 0 only", 3, ((WRAP, f"if hvd.rank() == 0:\n    {WRAP}"),), 0),
    Variant("wrapped where the local rank is 0", 3, ((WRAP, f"if hvd.local_rank() == 0:\n    {WRAP}"),), 0),
    Variant("wrapped on all ranks but 0", 3, ((WRAP, f"if not verbose:\n    {WRAP}"),), 0),
    Variant("wrapped only where there are GPUs", 3, ((WRAP, f"if gpus:\n    {WRAP}"),), 3),
    Variant("wrapped only on one host", 3, ((WRAP, f"if hvd.local_size() == hvd.size():\n    {WRAP}"),), 3),
    Variant("wrapped twice", 3, ((WRAP, WRAP + WRAP),), 0),
    Variant("the class wrapped", 3, ((SGD, "opt = tf.keras.optimizers.SGD\n"),), 0),
    Variant("schedule times the ranks", 3, (("return args.base_lr *", "return hvd.size() * args.base_lr *"),), 3),
    Variant("rate times the ranks", 3, (("args.base_lr", "hvd.size() * args.base_lr"),), 3),
    Variant("loss divided by the ranks", 3, (("optimizer=opt,", "optimizer=opt, loss_weights=[1 / hvd.size()],"),), 3),
    Variant("schedule divided by the ranks", 3, (("return args.base_lr *", "return args.base_lr / hvd.size() *"),), 3),
    Variant(
        "momentum added",
        3,
        (("learning_rate=args.base_lr)", "learning_rate=args.base_lr, momentum=0.9)"),),
        3,
    ),
    Variant("another kind of optimizer", 3, (("tf.keras.optimizers.SGD(", "tf.keras.optimizers.Adam("),), 3),
    Variant(
        "gradients summed in a training step",
        3,
        own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.allreduce(gradient, op=hvd_tf.Sum) for gradient in gradients]",
        ),
        3,
    ),
    Variant(
        "a training step that averages nothing",
        3,
        own_model("gradients = tape.gradient(loss, self.trainable_variables)"),
        3,
    ),
    Variant(
        "gradients of rank 0 for all",
        3,
        own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.broadcast(gradient, root_rank=0) for gradient in gradients]",
        ),
        3,
    ),
    Variant(
        "only the first gradient averaged",
        3,
        own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients[0] = hvd_tf.allreduce(gradients[0])",
        ),
        3,
    ),
    Variant("verbose by local rank at step 3", 3, ((VERBOSE, "verbose = 1 if hvd.local_rank() == 0 else 0\n"),), 2),
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
    Variant("broadcast made but not appended", 4, ((BROADCAST, f"broadcast = {BROADCAST_CALLBACK}\n"),), 4),
    Variant("broadcast in another list", 4, ((BROADCAST, f"horovod_callbacks = [{BROADCAST_CALLBACK}]\n"),), 4),
    Variant("list emptied after the broadcast", 4, ((BROADCAST, BROADCAST + LIST_OF_CALLBACKS),), 4),
    Variant("broadcast appended after fit", 4, ((BROADCAST, ""), (TEST_ONCE, BROADCAST + TEST_ONCE)), 4),
    Variant(
        "broadcast given to evaluate",
        4,
        ((BROADCAST, ""), ("(test_once, ", f"(test_once, callbacks=[{BROADCAST_CALLBACK}], ")),
        4,
    ),
    Variant("weights of rank 1", 4, (("Callback(0)", "Callback(1)"),), 4),
    Variant("weights of the last rank", 4, (("Callback(0)", "Callback(root_rank=hvd.size() - 1)"),), 4),
    Variant("each rank its own root", 4, (("Callback(0)", "Callback(hvd.rank())"),), 4),
    Variant("each local rank its own root", 4, (("Callback(0)", "Callback(hvd.local_rank())"),), 4),
    Variant("no root rank", 4, (("Callback(0)", "Callback()"),), 0),
    Variant("the callback's class appended", 4, (("Callback(0)", "Callback"),), 0),
    Variant("the callback sought in hvd", 4, (("hvd.callbacks.Broad", "hvd.Broad"),), 0),
    Variant("no callbacks in this API", 4, ((IMPORT, "import horovod.tensorflow as hvd\n"),), 0),
    Variant("broadcast on rank 0 only", 4, ((BROADCAST, f"if verbose:\n    {BROADCAST}"),), 4),
    Variant("broadcast among two ranks only", 4, ((BROADCAST, f"if hvd.size() == 2:\n    {BROADCAST}"),), 4),
    Variant("broadcast on all ranks but 0", 4, ((BROADCAST, f"if hvd.rank() != 0:\n    {BROADCAST}"),), 4),
    Variant("broadcast only where there are GPUs", 4, ((BROADCAST, f"if gpus:\n    {BROADCAST}"),), 4),
    Variant("broadcast for graphs", 4, _broadcast_once("hvd.broadcast_global_variables(0)\n"), 0),
    Variant(
        "weights of another model broadcast",
        4,
        _broadcast_once("hvd_tf.broadcast_variables(create_model().variables, root_rank=0)\n"),
        4,
    ),
    Variant(
        "last layer alone broadcast",
        4,
        _broadcast_once("hvd_tf.broadcast_variables(model.layers[-1].variables, root_rank=0)\n"),
        4,
    ),
    Variant(
        "statistics alone broadcast",
        4,
        _broadcast_once("hvd_tf.broadcast_variables(model.non_trainable_variables, root_rank=0)\n"),
        4,
    ),
    Variant(
        "optimizer alone broadcast",
        4,
        _broadcast_once("hvd_tf.broadcast_variables(opt.variables, root_rank=0)\n"),
        4,
    ),
    Variant(
        "mean of the first weights",
        4,
        _broadcast_once("for variable in model.variables:\n    variable.assign(hvd_tf.allreduce(variable))\n"),
        4,
    ),
    Variant(
        "weights received and not assigned",
        4,
        _broadcast_once("for variable in model.variables:\n    hvd_tf.broadcast(variable, root_rank=0)\n"),
        4,
        in_ci=True,
    ),
    Variant(
        "broadcast after an epoch",
        4,
        _broadcast_in(
            "on_epoch_end(self, epoch, logs=None)", "hvd_tf.broadcast_variables(self.model.variables, root_rank=0)"
        ),
        4,
    ),
    Variant(
        "broadcast after training",
        4,
        _broadcast_in("on_train_end(self, logs=None)", "hvd_tf.broadcast_variables(self.model.variables, root_rank=0)"),
        4,
    ),
    Variant(
        "broadcast after the second batch",
        4,
        _broadcast_in(
            "on_train_batch_end(self, batch, logs=None)",
            "if batch == 1:",
            "    hvd_tf.broadcast_variables(self.model.variables, root_rank=0)",
        ),
        4,
    ),
    Variant("sum of gradients at step 4", 4, ((WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Sum)\n"),), 3),
)

_UNSHARED = "steps_per_epoch=len(train_iter),"

_STEP_5 = (
    Variant("training not shared", 5, ((TRAIN, _UNSHARED),), 5, check="training_steps"),
    Variant(
        "validation not shared", 5, ((VALIDATE, "validation_steps=3 * len(test_iter),"),), 5, check="validation_steps"
    ),
    Variant(
        "validation left as it was", 5, ((VALIDATE, "validation_steps=len(test_iter),"),), 5, check="validation_steps"
    ),
    Variant(
        "one pass over the test set",
        5,
        ((VALIDATE, "validation_steps=len(test_iter) // hvd.size(),"),),
        5,
        check="validation_steps",
    ),
    Variant(
        "three passes over the training set", 5, ((TRAIN, "steps_per_epoch=3 * len(train_iter) // hvd.size(),"),), 5
    ),
    Variant(
        "three at the wrong place",
        5,
        (
            (TRAIN, "steps_per_epoch=3 * len(train_iter) // hvd.size(),"),
            (VALIDATE, "validation_steps=len(test_iter) // hvd.size(),"),
        ),
        5,
    ),
    Variant("validation divided twice", 5, ((VALIDATE, f"{VALIDATE[:-1]} // hvd.size(),"),), 5),
    Variant(
        "divided by the local size",
        5,
        (("// hvd.size()", "// hvd.local_size()"),),
        5,
    ),
    Variant(
        "training divided by the local size",
        5,
        ((TRAIN, f"{TRAIN[:-11]}hvd.local_size(),"),),
        5,
        check="training_steps",
    ),
    Variant("divided by two", 5, (("// hvd.size()", "// 2"),), 5),
    Variant(
        "validation divided by two",
        5,
        ((VALIDATE, "validation_steps=3 * len(test_iter) // 2,"),),
        5,
        check="validation_steps",
    ),
    Variant("multiplied", 5, ((TRAIN, "steps_per_epoch=len(train_iter) * hvd.size(),"),), 5),
    Variant("images in place of batches", 5, ((TRAIN, "steps_per_epoch=len(x_train) // hvd.size(),"),), 5),
    Variant("test images in place of batches", 5, ((VALIDATE, "validation_steps=3 * len(x_test) // hvd.size(),"),), 5),
    Variant(
        "divided twice",
        5,
        ((TRAIN, "steps_per_epoch=len(train_iter) // hvd.size() // hvd.size(),"),),
        5,
        check="training_steps",
        in_ci=True,
    ),
    Variant("training and test set confused", 5, (("len(test_iter)", "len(train_iter)"),), 5),
    Variant("training by the test set's batches", 5, ((TRAIN, "steps_per_epoch=len(test_iter) // hvd.size(),"),), 5),
    Variant("shared on rank 0 only", 5, ((TRAIN, f"{TRAIN[:-1]} if verbose else len(train_iter),"),), 5),
    Variant("divided by the rank and one", 5, ((TRAIN, "steps_per_epoch=len(train_iter) // (hvd.rank() + 1),"),), 5),
    Variant(
        "what is left over to the first ranks",
        5,
        ((TRAIN, f"{TRAIN[:-1]} + (hvd.rank() < len(train_iter) % hvd.size()),"),),
        5,
        check="training_steps",
    ),
    Variant(
        "batches of all ranks on each",
        5,
        (
            (FLOW, f"{FLOW[:-2]} * hvd.size())\n"),
            (TRAIN, "steps_per_epoch=len(x_train) // args.batch_size // hvd.size(),"),
        ),
        5,
    ),
    Variant(
        "one share for all ranks",
        5,
        (
            (
                FLOW,
                "share = len(x_train) // hvd.size()\n"
                + FLOW.replace("x_train, y_train", "x_train[:share], y_train[:share]"),
            ),
            (TRAIN, "steps_per_epoch=len(train_iter),"),
        ),
        5,
        check="training_steps",
    ),
    Variant(
        "smaller batches in place of fewer",
        5,
        (
            (FLOW, FLOW.replace("args.batch_size", "max(1, args.batch_size // hvd.size())")),
            (TRAIN, "steps_per_epoch=len(x_train) // args.batch_size // hvd.size(),"),
        ),
        5,
        check="training_steps",
    ),
    Variant("one order for all ranks", 5, ((FLOW, f"{FLOW[:-2]}, shuffle=False)\n"),), 5),
    Variant("one seed for all ranks", 5, ((FLOW, f"{FLOW[:-2]}, seed=1)\n"),), 5),
    Variant(
        "training data that end after one pass",
        5,
        (("    (batch for batch in train_iter),\n", "    (train_iter[i] for i in range(len(train_iter))),\n"),),
        5,
    ),
    Variant("divided by the rank", 5, ((TRAIN, "steps_per_epoch=len(train_iter) // hvd.rank(),"),), 0),
    Variant("size not called", 5, ((TRAIN, "steps_per_epoch=len(train_iter) // hvd.size,"),), 0),
    Variant("weights of rank 1 at step 5", 5, (("Callback(0)", "Callback(1)"),), 4),
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
    Variant("averaged after stopping", 6, ((AVERAGE, ""), (STOP, STOP + AVERAGE)), 6),
    Variant("averaged last", 6, ((AVERAGE, ""), (REPORTERS, REPORTERS + AVERAGE)), 6),
    Variant(
        "averaged last in the call of fit",
        6,
        ((AVERAGE, ""), (GIVEN, f"    callbacks=[*callbacks, {AVERAGE_CALLBACK}],\n")),
        6,
    ),
    Variant("stopping inserted at the front", 6, ((STOP, STOP.replace("append(", "insert(0, ")),), 6),
    Variant("callbacks in reverse", 6, ((GIVEN, "    callbacks=callbacks[::-1],\n"),), 6),
    Variant("averaging made but not appended", 6, ((AVERAGE, f"average = {AVERAGE_CALLBACK}\n"),), 6),
    Variant("averaging in another list", 6, ((AVERAGE, f"horovod_callbacks = [{AVERAGE_CALLBACK}]\n"),), 6),
    Variant("averaging appended after fit", 6, ((AVERAGE, ""), (TEST_ONCE, AVERAGE + TEST_ONCE)), 6),
    Variant(
        "averaging given to evaluate",
        6,
        ((AVERAGE, ""), ("(test_once, ", f"(test_once, callbacks=[{AVERAGE_CALLBACK}], ")),
        6,
    ),
    Variant("averaged on rank 0 only", 6, ((AVERAGE, f"if verbose:\n    {AVERAGE}"),), 6),
    Variant("averaged on all ranks but 0", 6, ((AVERAGE, f"if not verbose:\n    {AVERAGE}"),), 6),
    Variant("averaged after TensorBoard", 6, ((AVERAGE, f"{REPORTERS}{AVERAGE}"), (f"{STOP}\n{REPORTERS}", STOP)), 6),
    Variant(
        "averaged in the first epoch only",
        6,
        (
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
        6,
    ),
    Variant(
        "only what stops is averaged",
        6,
        (
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
        6,
    ),
    Variant("averaged only where there are GPUs", 6, ((AVERAGE, f"if gpus:\n    {AVERAGE}"),), 6),
    Variant("the averaging callback sought in hvd", 6, (("hvd.callbacks.Metric", "hvd.Metric"),), 0),
    Variant("the averaging callback's class appended", 6, (("AverageCallback()", "AverageCallback"),), 0),
    Variant("stopping on rank 0 only", 6, ((STOP, f"if verbose:\n    {STOP}"),), 6, in_ci=True),
    Variant("no stopping at all", 6, ((STOP, ""),), 6),
    Variant(
        "stopping by the accuracy of the worst rank",
        6,
        ((IMPORT, IMPORT_BOTH), (AVERAGE, ""), (_REACHED, _LEAST)),
        6,
    ),
    Variant("stopping by the training's accuracy", 6, (('logs["val_accuracy"]', 'logs["accuracy"]'),), 6),
    Variant(
        "metrics summed",
        6,
        _average_in(_AT_END, _LOOP, "    logs[name] = float(hvd.allreduce(float(value), op=hvd.Sum))"),
        6,
    ),
    Variant(
        "metrics divided by the local size",
        6,
        _average_in(
            _AT_END,
            _LOOP,
            "    total = hvd.allreduce(float(value), op=hvd.Sum)",
            "    logs[name] = float(total) / hvd.local_size()",
        ),
        6,
    ),
    Variant(
        "only the loss averaged",
        6,
        _average_in(
            _AT_END, _LOOP, '    if name == "val_loss":', "        logs[name] = float(hvd.allreduce(float(value)))"
        ),
        6,
    ),
    Variant(
        "means kept in another dictionary",
        6,
        _average_in(
            _AT_END, "logs = {name: float(hvd.allreduce(float(value))) for name, value in sorted(logs.items())}"
        ),
        6,
    ),
    Variant(
        "means thrown away",
        6,
        _average_in(_AT_END, _LOOP, "    hvd.allreduce(float(value))"),
        6,
    ),
    Variant(
        "metrics of rank 0 for all",
        6,
        _average_in(_AT_END, _LOOP, "    logs[name] = float(hvd.broadcast(float(value), root_rank=0))"),
        6,
    ),
    Variant(
        "averaged as an epoch begins",
        6,
        _average_in(
            "on_epoch_begin(self, epoch, logs=None)",
            "for name, value in sorted((logs or {}).items()):",
            "    logs[name] = float(hvd.allreduce(float(value)))",
        ),
        6,
    ),
    Variant("epoch not shared at step 6", 6, ((TRAIN, _UNSHARED),), 5),
    Variant("fit renamed", 6, ((FIT, "model.train(\n"),), 0),
)

WRONG = (*_STEP_1, *_STEP_2, *_STEP_3, *_STEP_4, *_STEP_5, *_STEP_6)

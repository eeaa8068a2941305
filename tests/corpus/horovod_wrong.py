"""Wrong scripts of the first part, steps 1 to 6: each has one mistake that learners make."""

from tests.corpus.horovod_passages import (
    AFTER_6,
    ARGS,
    AVERAGE,
    AVERAGE_CALLBACK,
    BROADCAST,
    BROADCAST_CALLBACK,
    BY_LOCAL_RANK,
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
    MAKE_SGD,
    MODEL,
    PICK,
    PIN,
    REFUSAL,
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
    wrong(1, "imported but never initialised", check="initialised", base=START)((_IMPORT_TODO, IMPORT)),
    wrong(1, "init named but not called", base=START)((_IMPORT_TODO, IMPORT), (_INIT_TODO, "hvd.init  # noqa\n")),
    wrong(1, "initialised after the model", check="initialised", base=START)(
        (_IMPORT_TODO, IMPORT), (MODEL, MODEL + INIT)
    ),
    wrong(1, "initialised after compile", base=START)((_IMPORT_TODO, IMPORT), (COMPILE, COMPILE + INIT)),
    wrong(1, "initialised but not pinned", check="pinned", base=START)((_IMPORT_TODO, IMPORT), (_INIT_TODO, INIT)),
    wrong(1, "Horovod never imported", fails=0)((IMPORT, "")),
    wrong(1, "no init before the local rank", fails=0)((INIT, "")),
    wrong(1, "init after the pinning", fails=0)((INIT, ""), (PIN, PIN + INIT)),
    wrong(1, "init on several ranks only", fails=0)((INIT, "if hvd.size() > 1:\n    hvd.init()\n")),
    wrong(1, "init only where there are GPUs")((INIT, ""), (PIN, PIN.replace("if gpus:\n", f"if gpus:\n    {INIT}"))),
    wrong(1, "another framework's Horovod", fails=0)((IMPORT, "import horovod.torch as hvd\n")),
    wrong(1, "pinned by rank", check="pinned")((CHOICE, "gpus[hvd.rank()]")),
    wrong(1, "pinned by host")((CHOICE, "gpus[hvd.cross_rank()]")),
    wrong(1, "always the first GPU", check="pinned")((CHOICE, "gpus[0]")),
    wrong(1, "always the last local GPU")((CHOICE, "gpus[hvd.local_size() - 1]")),
    wrong(1, "GPU of the local size", check="pinned")((CHOICE, "gpus[hvd.local_size()]")),
    wrong(1, "a rule for two GPUs at most", check="pinned")((CHOICE, "gpus[hvd.local_rank() % 2]")),
    wrong(1, "GPU numbers from one on", check="pinned")((CHOICE, "gpus[hvd.local_rank() + 1]")),
    wrong(1, "all GPUs visible", check="pinned")((VISIBLE, "")),
    wrong(1, "every GPU made visible")((VISIBLE, '    tf.config.set_visible_devices(gpus, "GPU")\n')),
    wrong(1, "GPUs from the local rank on")(
        (VISIBLE, '    tf.config.set_visible_devices(gpus[hvd.local_rank() :], "GPU")\n')
    ),
    wrong(1, "GPUs hidden from all")((VISIBLE, '    tf.config.set_visible_devices([], "GPU")\n')),
    wrong(1, "no memory growth", check="memory_grows")((GROWTH, "")),
    wrong(1, "memory growth turned off", check="memory_grows")(
        ("set_memory_growth(gpu, True)", "set_memory_growth(gpu, False)")
    ),
    wrong(1, "memory growth on the first GPU", check="memory_grows")(
        ("set_memory_growth(gpu,", "set_memory_growth(gpus[0],")
    ),
    wrong(1, "memory growth on rank 0 alone", check="memory_grows")(
        (GROWTH, "    if hvd.rank() == 0:\n        tf.config.experimental.set_memory_growth(gpu, True)\n")
    ),
    wrong(1, "fails without GPUs", check="without_gpus", in_ci=True)(("if gpus:\n", "if True:\n")),
    wrong(1, "asks for GPUs", check="without_gpus")(
        (LIST, f'{LIST}if not gpus:\n    raise SystemExit("no GPU here")\n')
    ),
    wrong(1, "CUDA_VISIBLE_DEVICES by rank")(
        (LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.rank())\n{LIST}'), (PIN, GROW_EACH)
    ),
    wrong(1, "CUDA_VISIBLE_DEVICES after the GPUs were listed")(
        (PIN, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{GROW_EACH}')
    ),
    wrong(1, "CUDA_VISIBLE_DEVICES and an index as well", check="pinned")(
        (LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{LIST}'), (CHOICE, BY_LOCAL_RANK)
    ),
    wrong(1, "CUDA_VISIBLE_DEVICES, and ranks without a GPU continue", check="pinned")(
        (LIST, f'os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())\n{LIST}'), (PIN, GROW_EACH)
    ),
    wrong(1, "a rank that is shown one GPU hides it", check="pinned")(
        (
            PIN,
            f"{REFUSAL.replace('if gpus and', 'if len(gpus) > 1 and')}"
            "mine = gpus[hvd.local_rank() : hvd.local_rank() + 1]\n"
            'tf.config.set_visible_devices(mine, "GPU")\n'
            "for gpu in mine:\n    tf.config.experimental.set_memory_growth(gpu, True)\n",
        )
    ),
    wrong(1, "ranks without a GPU share another's", check="enough_gpus")(
        (CHOICE, "gpus[hvd.local_rank() % len(gpus)]")
    ),
    wrong(1, "ranks without a GPU use the CPU", check="enough_gpus")(
        ("if gpus:\n", "if hvd.local_rank() < len(gpus):\n")
    ),
    wrong(1, "more ranks than GPUs is a warning only", check="enough_gpus")(
        (PICK, GUARD.replace("raise SystemExit(", "print(") + PICK), (CHOICE, "gpus[hvd.local_rank() % len(gpus)]")
    ),
    wrong(1, "more ranks than GPUs as if all was well", check="enough_gpus")(
        (PICK, f'    if hvd.local_size() > len(gpus):\n        print("too few GPUs")\n        raise SystemExit\n{PICK}')
    ),
    wrong(1, "as many ranks as GPUs required", check="enough_gpus")(
        (PICK, GUARD.replace("hvd.local_size() > len", "hvd.local_size() != len") + PICK)
    ),
    wrong(1, "more ranks of the job than GPUs of the host", check="enough_gpus")(
        (PICK, GUARD.replace("hvd.local_size() > len", "hvd.size() > len") + PICK)
    ),
    wrong(1, "GPUs used before they are chosen", fails=0)((LIST, f'{LIST}tf.config.list_logical_devices("GPU")\n')),
    wrong(1, "pinned after tensors are made", fails=0)((LIST, f"tf.zeros(1)\n{LIST}")),
    wrong(1, "pinned after the model", fails=0)((PIN, ""), (MODEL, MODEL + PIN)),
    wrong(1, "an argument of its own", fails=0)((ARGS, f'parser.add_argument("--ranks", required=True)\n{ARGS}')),
)

_STEP_2 = (
    wrong(2, "pinned by rank at step 2", fails=1)((CHOICE, "gpus[hvd.rank()]")),
    wrong(2, "no init at step 2", fails=0)((INIT, "")),
    wrong(2, "verbose by local rank", check="others_are_silent")(
        (VERBOSE, "verbose = 1 if hvd.local_rank() == 0 else 0\n")
    ),
    wrong(2, "verbose by host")((VERBOSE, "verbose = 1 if hvd.cross_rank() == 0 else 0\n")),
    wrong(2, "verbose the wrong way round")((VERBOSE, "verbose = 0 if hvd.rank() == 0 else 1\n")),
    wrong(2, "verbose as the rank")((VERBOSE, "verbose = hvd.rank()\n")),
    wrong(2, "verbose on rank 1", check="rank_0_reports")((VERBOSE, "verbose = 1 if hvd.rank() == 1 else 0\n")),
    wrong(2, "verbose on the last rank")((VERBOSE, "verbose = int(hvd.rank() == hvd.size() - 1)\n")),
    wrong(2, "rank not called")((VERBOSE, "verbose = 1 if hvd.rank == 0 else 0\n")),
    wrong(2, "rank compared with text")((VERBOSE, 'verbose = 1 if hvd.rank() == "0" else 0\n')),
    wrong(2, "no rank reports", check="rank_0_reports")((VERBOSE, "verbose = 0\n")),
    wrong(2, "two lines on some ranks")((VERBOSE, "verbose = 1 if hvd.rank() == 0 else 2\n")),
    wrong(2, "verbose set back")((VERBOSE, VERBOSE + STARTERS_VERBOSE)),
    wrong(2, "verbose under another name")((VERBOSE, f"verbosity{VERBOSE[7:]}{STARTERS_VERBOSE}")),
    wrong(2, "fit not told verbose")(("    verbose=verbose,\n", "")),
    wrong(2, "fit told to be verbose")(("    verbose=verbose,\n", "    verbose=1,\n")),
    wrong(2, "evaluate not told verbose", in_ci=True)(("(test_once, verbose=verbose)", "(test_once)")),
    wrong(2, "results printed everywhere")((RESULTS, RESULTS.replace("if verbose:", "if True:"))),
    wrong(2, "one of the results printed everywhere")(('    print(f"Test acc', 'print(f"Test acc')),
    wrong(2, "reporters on all ranks")((REPORTERS, REPORTERS.replace("if verbose:", "if True:"))),
    wrong(2, "total time on all ranks", check="others_are_silent")(
        ("    callbacks.append(PrintTotalTime())\n", ""), (STOP, f"{STOP}callbacks.append(PrintTotalTime())\n")
    ),
    wrong(2, "TensorBoard's logs from every rank", check="same_work")((TENSORBOARD, TENSORBOARD.lstrip())),
    wrong(2, "callbacks for rank 0 only")((GIVEN, "    callbacks=callbacks if verbose else None,\n")),
    wrong(2, "the schedule on rank 0 only", check="same_work")((SCHEDULE, f"if verbose:\n    {SCHEDULE}")),
    wrong(2, "training on rank 0 only", check="same_work")((FIT, "verbose and model.fit(\n")),
    wrong(2, "the others leave")((VERBOSE, f"{VERBOSE}if not verbose:\n    raise SystemExit\n")),
    wrong(2, "validation on rank 0 only", check="same_work")(
        ('logs["val_accuracy"]', 'logs.get("val_accuracy", 0)'),
        ("=(batch for batch in test_iter)", "=(batch for batch in test_iter) if verbose else None"),
    ),
    wrong(2, "a greeting from every rank")((VERBOSE, f'{VERBOSE}print("This is rank", hvd.rank())\n')),
    wrong(2, "the model's summary from every rank")((MODEL, f"{MODEL}model.summary()\n")),
    wrong(2, "every rank logs its loss", check="others_are_silent")(
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
)

_STEP_3 = (
    wrong(3, "sum of gradients")((WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Sum)\n")),
    wrong(3, "wrapped and thrown away")((WRAP, "hvd.DistributedOptimizer(opt)\n")),
    wrong(3, "the unwrapped one compiled")((WRAP, "parallel = hvd.DistributedOptimizer(opt)\n")),
    wrong(3, "wrapped after compile")((WRAP, ""), (COMPILE, COMPILE + WRAP)),
    wrong(3, "made anew after wrapping")((WRAP, WRAP + SGD)),
    wrong(3, "another optimizer given to compile")(("optimizer=opt", 'optimizer="sgd"')),
    wrong(3, "wrapped on rank 0 only", fails=0)((WRAP, f"if hvd.rank() == 0:\n    {WRAP}")),
    wrong(3, "wrapped where the local rank is 0", fails=0)((WRAP, f"if hvd.local_rank() == 0:\n    {WRAP}")),
    wrong(3, "wrapped on all ranks but 0", fails=0)((WRAP, f"if not verbose:\n    {WRAP}")),
    wrong(3, "wrapped only where there are GPUs")((WRAP, f"if gpus:\n    {WRAP}")),
    wrong(3, "wrapped only on one host")((WRAP, f"if hvd.local_size() == hvd.size():\n    {WRAP}")),
    wrong(3, "wrapped twice", fails=0)((WRAP, WRAP + WRAP)),
    wrong(3, "the class wrapped", fails=0)((SGD, "opt = tf.keras.optimizers.SGD\n")),
    wrong(3, "schedule times the ranks")(("return args.base_lr *", "return hvd.size() * args.base_lr *")),
    wrong(3, "rate times the ranks")(("args.base_lr", "hvd.size() * args.base_lr")),
    wrong(3, "loss divided by the ranks")(("optimizer=opt,", "optimizer=opt, loss_weights=[1 / hvd.size()],")),
    wrong(3, "schedule divided by the ranks")(("return args.base_lr *", "return args.base_lr / hvd.size() *")),
    wrong(3, "no momentum")((MAKE_SGD, "tf.keras.optimizers.SGD(learning_rate=args.base_lr)")),
    wrong(3, "another kind of optimizer")(("tf.keras.optimizers.SGD(", "tf.keras.optimizers.RMSprop(")),
    wrong(3, "gradients summed in a training step")(
        *own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.allreduce(gradient, op=hvd_tf.Sum) for gradient in gradients]",
        )
    ),
    wrong(3, "a training step that averages nothing")(
        *own_model("gradients = tape.gradient(loss, self.trainable_variables)")
    ),
    wrong(3, "gradients of rank 0 for all")(
        *own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.broadcast(gradient, root_rank=0) for gradient in gradients]",
        )
    ),
    wrong(3, "only the first gradient averaged")(
        *own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)", "gradients[0] = hvd_tf.allreduce(gradients[0])"
        )
    ),
    wrong(3, "verbose by local rank at step 3", fails=2)((VERBOSE, "verbose = 1 if hvd.local_rank() == 0 else 0\n")),
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
    wrong(4, "broadcast made but not appended")((BROADCAST, f"broadcast = {BROADCAST_CALLBACK}\n")),
    wrong(4, "broadcast in another list")((BROADCAST, f"horovod_callbacks = [{BROADCAST_CALLBACK}]\n")),
    wrong(4, "list emptied after the broadcast")((BROADCAST, BROADCAST + LIST_OF_CALLBACKS)),
    wrong(4, "broadcast appended after fit")((BROADCAST, ""), (TEST_ONCE, BROADCAST + TEST_ONCE)),
    wrong(4, "broadcast given to evaluate")(
        (BROADCAST, ""), ("(test_once, ", f"(test_once, callbacks=[{BROADCAST_CALLBACK}], ")
    ),
    wrong(4, "weights of rank 1")(("Callback(0)", "Callback(1)")),
    wrong(4, "weights of the last rank")(("Callback(0)", "Callback(root_rank=hvd.size() - 1)")),
    wrong(4, "each rank its own root")(("Callback(0)", "Callback(hvd.rank())")),
    wrong(4, "each local rank its own root")(("Callback(0)", "Callback(hvd.local_rank())")),
    wrong(4, "no root rank", fails=0)(("Callback(0)", "Callback()")),
    wrong(4, "the callback's class appended", fails=0)(("Callback(0)", "Callback")),
    wrong(4, "the callback sought in hvd", fails=0)(("hvd.callbacks.Broad", "hvd.Broad")),
    wrong(4, "no callbacks in this API", fails=0)((IMPORT, "import horovod.tensorflow as hvd\n")),
    wrong(4, "broadcast on rank 0 only")((BROADCAST, f"if verbose:\n    {BROADCAST}")),
    wrong(4, "broadcast among two ranks only")((BROADCAST, f"if hvd.size() == 2:\n    {BROADCAST}")),
    wrong(4, "broadcast on all ranks but 0")((BROADCAST, f"if hvd.rank() != 0:\n    {BROADCAST}")),
    wrong(4, "broadcast only where there are GPUs")((BROADCAST, f"if gpus:\n    {BROADCAST}")),
    wrong(4, "broadcast for graphs", fails=0)(*_broadcast_once("hvd.broadcast_global_variables(0)\n")),
    wrong(4, "weights of another model broadcast")(
        *_broadcast_once("hvd_tf.broadcast_variables(create_model().variables, root_rank=0)\n")
    ),
    wrong(4, "last layer alone broadcast")(
        *_broadcast_once("hvd_tf.broadcast_variables(model.layers[-1].variables, root_rank=0)\n")
    ),
    wrong(4, "statistics alone broadcast")(
        *_broadcast_once("hvd_tf.broadcast_variables(model.non_trainable_variables, root_rank=0)\n")
    ),
    wrong(4, "optimizer alone broadcast")(*_broadcast_once("hvd_tf.broadcast_variables(opt.variables, root_rank=0)\n")),
    wrong(4, "mean of the first weights")(
        *_broadcast_once("for variable in model.variables:\n    variable.assign(hvd_tf.allreduce(variable))\n")
    ),
    wrong(4, "weights received and not assigned", in_ci=True)(
        *_broadcast_once("for variable in model.variables:\n    hvd_tf.broadcast(variable, root_rank=0)\n")
    ),
    wrong(4, "broadcast after an epoch")(
        *_broadcast_in(
            "on_epoch_end(self, epoch, logs=None)", "hvd_tf.broadcast_variables(self.model.variables, root_rank=0)"
        )
    ),
    wrong(4, "broadcast after training")(
        *_broadcast_in("on_train_end(self, logs=None)", "hvd_tf.broadcast_variables(self.model.variables, root_rank=0)")
    ),
    wrong(4, "broadcast after the second batch")(
        *_broadcast_in(
            "on_train_batch_end(self, batch, logs=None)",
            "if batch == 1:",
            "    hvd_tf.broadcast_variables(self.model.variables, root_rank=0)",
        )
    ),
    wrong(4, "sum of gradients at step 4", fails=3)((WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Sum)\n")),
)

_PART = "{0}_train[hvd.rank() * len({0}_train) // hvd.size() : (hvd.rank() + 1) * len({0}_train) // hvd.size()]"
_UNSHARED = "steps_per_epoch=len(train_iter),"

_STEP_5 = (
    wrong(5, "training not shared", check="training_steps")((TRAIN, _UNSHARED)),
    wrong(5, "validation not shared", check="validation_steps")((VALIDATE, "validation_steps=3 * len(test_iter),")),
    wrong(5, "validation left as it was", check="validation_steps")((VALIDATE, "validation_steps=len(test_iter),")),
    wrong(5, "one pass over the test set", check="validation_steps")(
        (VALIDATE, "validation_steps=len(test_iter) // hvd.size(),")
    ),
    wrong(5, "three passes over the training set")((TRAIN, "steps_per_epoch=3 * len(train_iter) // hvd.size(),")),
    wrong(5, "three at the wrong place")(
        (TRAIN, "steps_per_epoch=3 * len(train_iter) // hvd.size(),"),
        (VALIDATE, "validation_steps=len(test_iter) // hvd.size(),"),
    ),
    wrong(5, "validation divided twice")((VALIDATE, f"{VALIDATE[:-1]} // hvd.size(),")),
    wrong(5, "divided by the local size")(("// hvd.size()", "// hvd.local_size()")),
    wrong(5, "training divided by the local size", check="training_steps")((TRAIN, f"{TRAIN[:-11]}hvd.local_size(),")),
    wrong(5, "divided by two")(("// hvd.size()", "// 2")),
    wrong(5, "validation divided by two", check="validation_steps")(
        (VALIDATE, "validation_steps=3 * len(test_iter) // 2,")
    ),
    wrong(5, "multiplied")((TRAIN, "steps_per_epoch=len(train_iter) * hvd.size(),")),
    wrong(5, "images in place of batches")((TRAIN, "steps_per_epoch=len(x_train) // hvd.size(),")),
    wrong(5, "test images in place of batches")((VALIDATE, "validation_steps=3 * len(x_test) // hvd.size(),")),
    wrong(5, "divided twice", check="training_steps", in_ci=True)(
        (TRAIN, "steps_per_epoch=len(train_iter) // hvd.size() // hvd.size(),")
    ),
    wrong(5, "training and test set confused")(("len(test_iter)", "len(train_iter)")),
    wrong(5, "training by the test set's batches")((TRAIN, "steps_per_epoch=len(test_iter) // hvd.size(),")),
    wrong(5, "shared on rank 0 only")((TRAIN, f"{TRAIN[:-1]} if verbose else len(train_iter),")),
    wrong(5, "divided by the rank and one")((TRAIN, "steps_per_epoch=len(train_iter) // (hvd.rank() + 1),")),
    wrong(5, "what is left over to the first ranks", check="training_steps")(
        (TRAIN, f"{TRAIN[:-1]} + (hvd.rank() < len(train_iter) % hvd.size()),")
    ),
    *(
        wrong(number, f"shares of the images by rank, {how}", fails=5, check="training_steps", in_ci=number == 6)(
            (FLOW, FLOW.replace("x_train, y_train", f"{share.format('x')}, {share.format('y')}")),
            (TRAIN, "steps_per_epoch=len(train_iter),"),
        )
        for number, how, share in (
            (5, "in turn", "{}_train[hvd.rank() :: hvd.size()]"),
            (6, "in turn", "{}_train[hvd.rank() :: hvd.size()]"),
            (6, "one after the other", _PART),
        )
    ),
    wrong(5, "batches of all ranks on each")(
        (FLOW, f"{FLOW[:-2]} * hvd.size())\n"),
        (TRAIN, "steps_per_epoch=len(x_train) // args.batch_size // hvd.size(),"),
    ),
    wrong(5, "one share for all ranks", check="training_steps")(
        (
            FLOW,
            "share = len(x_train) // hvd.size()\n"
            + FLOW.replace("x_train, y_train", "x_train[:share], y_train[:share]"),
        ),
        (TRAIN, "steps_per_epoch=len(train_iter),"),
    ),
    wrong(5, "smaller batches in place of fewer", check="training_steps")(
        (FLOW, FLOW.replace("args.batch_size", "max(1, args.batch_size // hvd.size())")),
        (TRAIN, "steps_per_epoch=len(x_train) // args.batch_size // hvd.size(),"),
    ),
    wrong(5, "one order for all ranks")((FLOW, f"{FLOW[:-2]}, shuffle=False)\n")),
    wrong(5, "one seed for all ranks")((FLOW, f"{FLOW[:-2]}, seed=1)\n")),
    wrong(5, "training data that end after one pass")(
        ("    (batch for batch in train_iter),\n", "    (train_iter[i] for i in range(len(train_iter))),\n")
    ),
    wrong(5, "divided by the rank", fails=0)((TRAIN, "steps_per_epoch=len(train_iter) // hvd.rank(),")),
    wrong(5, "size not called", fails=0)((TRAIN, "steps_per_epoch=len(train_iter) // hvd.size,")),
    wrong(5, "weights of rank 1 at step 5", fails=4)(("Callback(0)", "Callback(1)")),
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
    wrong(6, "averaged after stopping")((AVERAGE, ""), (STOP, STOP + AVERAGE)),
    wrong(6, "averaged last")((AVERAGE, ""), (REPORTERS, REPORTERS + AVERAGE)),
    wrong(6, "averaged last in the call of fit")(
        (AVERAGE, ""), (GIVEN, f"    callbacks=[*callbacks, {AVERAGE_CALLBACK}],\n")
    ),
    wrong(6, "stopping inserted at the front")((STOP, STOP.replace("append(", "insert(0, "))),
    wrong(6, "callbacks in reverse")((GIVEN, "    callbacks=callbacks[::-1],\n")),
    wrong(6, "averaging made but not appended")((AVERAGE, f"average = {AVERAGE_CALLBACK}\n")),
    wrong(6, "averaging in another list")((AVERAGE, f"horovod_callbacks = [{AVERAGE_CALLBACK}]\n")),
    wrong(6, "averaging appended after fit")((AVERAGE, ""), (TEST_ONCE, AVERAGE + TEST_ONCE)),
    wrong(6, "averaging given to evaluate")(
        (AVERAGE, ""), ("(test_once, ", f"(test_once, callbacks=[{AVERAGE_CALLBACK}], ")
    ),
    wrong(6, "averaged on rank 0 only")((AVERAGE, f"if verbose:\n    {AVERAGE}")),
    wrong(6, "averaged on all ranks but 0")((AVERAGE, f"if not verbose:\n    {AVERAGE}")),
    wrong(6, "averaged after TensorBoard")((AVERAGE, f"{REPORTERS}{AVERAGE}"), (f"{STOP}\n{REPORTERS}", STOP)),
    wrong(6, "averaged in the first epoch only")(
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
    wrong(6, "only what stops is averaged")(
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
    wrong(6, "averaged only where there are GPUs")((AVERAGE, f"if gpus:\n    {AVERAGE}")),
    wrong(6, "the averaging callback sought in hvd", fails=0)(("hvd.callbacks.Metric", "hvd.Metric")),
    wrong(6, "the averaging callback's class appended", fails=0)(("AverageCallback()", "AverageCallback")),
    wrong(6, "stopping on rank 0 only", in_ci=True)((STOP, f"if verbose:\n    {STOP}")),
    wrong(6, "no stopping at all")((STOP, "")),
    wrong(6, "stopping by the accuracy of the worst rank")((IMPORT, IMPORT_BOTH), (AVERAGE, ""), (_REACHED, _LEAST)),
    wrong(6, "stopping by the training's accuracy")(('logs["val_accuracy"]', 'logs["accuracy"]')),
    wrong(6, "metrics summed")(
        *_average_in(_AT_END, _LOOP, "    logs[name] = float(hvd.allreduce(float(value), op=hvd.Sum))")
    ),
    wrong(6, "metrics divided by the local size")(
        *_average_in(
            _AT_END,
            _LOOP,
            "    total = hvd.allreduce(float(value), op=hvd.Sum)",
            "    logs[name] = float(total) / hvd.local_size()",
        )
    ),
    wrong(6, "only the loss averaged")(
        *_average_in(
            _AT_END, _LOOP, '    if name == "val_loss":', "        logs[name] = float(hvd.allreduce(float(value)))"
        )
    ),
    wrong(6, "means kept in another dictionary")(
        *_average_in(
            _AT_END, "logs = {name: float(hvd.allreduce(float(value))) for name, value in sorted(logs.items())}"
        )
    ),
    wrong(6, "means thrown away")(*_average_in(_AT_END, _LOOP, "    hvd.allreduce(float(value))")),
    wrong(6, "metrics of rank 0 for all")(
        *_average_in(_AT_END, _LOOP, "    logs[name] = float(hvd.broadcast(float(value), root_rank=0))")
    ),
    wrong(6, "averaged as an epoch begins")(
        *_average_in(
            "on_epoch_begin(self, epoch, logs=None)",
            "for name, value in sorted((logs or {}).items()):",
            "    logs[name] = float(hvd.allreduce(float(value)))",
        )
    ),
    wrong(6, "epoch not shared at step 6", fails=5)((TRAIN, _UNSHARED)),
    wrong(6, "fit renamed", fails=0)((FIT, "model.train(\n")),
)

WRONG = (*_STEP_1, *_STEP_2, *_STEP_3, *_STEP_4, *_STEP_5, *_STEP_6)

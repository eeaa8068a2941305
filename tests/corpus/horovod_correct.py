"""Correct scripts of the first part, steps 1 to 6. Each one passes."""

import textwrap

from course.steps import SOLUTIONS
from tests.corpus.horovod_passages import (
    AFTER_6,
    ARGS,
    AVERAGE,
    BROADCAST,
    BROADCAST_CALLBACK,
    CHOICE,
    COMPILE,
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
    PIN,
    REFUSAL,
    REPORTERS,
    RESULTS,
    SCHEDULE,
    SGD,
    STOP,
    THE_REST,
    TRAIN,
    VALIDATE,
    VERBOSE,
    VISIBLE,
    WRAP,
    own_callback,
    own_model,
)
from tests.corpus.variant import Variant

_STEP_1 = (
    Variant("Horovod's API for TensorFlow", 1, ((IMPORT, "import horovod.tensorflow as hvd\n"),), in_ci=True),
    Variant("keras imported from Horovod", 1, ((IMPORT, "from horovod.tensorflow import keras as hvd\n"),)),
    Variant("both of Horovod's APIs", 1, ((IMPORT, IMPORT_BOTH), (INIT, "hvd_tf.init()\n"))),
    Variant(
        "functions imported one by one",
        1,
        (
            (IMPORT, "from horovod.tensorflow.keras import init, local_rank, local_size\n"),
            (INIT, "init()\n"),
            ("hvd.local_size()", "local_size()"),
            ("hvd.local_rank()", "local_rank()"),
        ),
    ),
    Variant(
        "names under tf.config.experimental",
        1,
        (
            ("tf.config.list_physical_devices", "tf.config.experimental.list_physical_devices"),
            ("tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices"),
        ),
    ),
    Variant(
        "memory growth on every GPU first",
        1,
        ((PIN, f'{REFUSAL}{GROW_EACH}if gpus:\n    tf.config.set_visible_devices({CHOICE}, "GPU")\n'),),
    ),
    Variant(
        "memory growth in a comprehension",
        1,
        ((GROWTH, "    [tf.config.experimental.set_memory_growth(each, True) for each in gpus]\n"),),
    ),
    Variant(
        "no GPU caught as an exception",
        1,
        (
            (
                PIN,
                f"{REFUSAL}try:\n    gpu = {CHOICE}\n{VISIBLE}{GROWTH}except IndexError:\n    pass\n",
            ),
        ),
    ),
    Variant(
        "a slice of the GPUs",
        1,
        (
            (
                PIN,
                f"{REFUSAL}mine = gpus[hvd.local_rank() : hvd.local_rank() + 1]\n"
                'tf.config.set_visible_devices(mine, "GPU")\n'
                "for gpu in mine:\n    tf.config.experimental.set_memory_growth(gpu, True)\n",
            ),
        ),
    ),
    Variant(
        "pinning in a function",
        1,
        (
            (
                LIST + PIN,
                "def pin(number):\n"
                '    found = tf.config.list_physical_devices("GPU")\n'
                "    if not found:\n"
                "        return\n"
                "    if number >= len(found):\n"
                '        raise RuntimeError(f"no GPU for local rank {number}: this host has {len(found)}")\n'
                '    tf.config.set_visible_devices([found[number]], "GPU")\n'
                "    tf.config.experimental.set_memory_growth(found[number], True)\n\n\n"
                "pin(hvd.local_rank())\n",
            ),
        ),
    ),
    Variant(
        "more ranks than GPUs by an assertion",
        1,
        ((GUARD, '    assert hvd.local_size() <= len(gpus), "more ranks than GPUs"\n'),),
    ),
    Variant(
        "more ranks than GPUs by an argument's error",
        1,
        ((GUARD, '    if hvd.local_size() > len(gpus):\n        parser.error("there are more ranks than GPUs")\n'),),
    ),
    Variant(
        "more ranks than GPUs in a print and a status",
        1,
        (
            (
                GUARD,
                "    if hvd.local_size() > len(gpus):\n"
                '        print("more ranks than GPUs")\n'
                "        raise SystemExit(1)\n",
            ),
        ),
    ),
    Variant(
        "the rank without a GPU says so",
        1,
        ((GUARD, '    if hvd.local_rank() >= len(gpus):\n        raise SystemExit("there is no GPU for me")\n'),),
    ),
    Variant(
        "the missing GPU caught and told",
        1,
        (
            (GUARD, ""),
            (
                f"    gpu = {CHOICE}\n",
                f"    try:\n        gpu = {CHOICE}\n    except IndexError:\n"
                '        raise SystemExit("there is no GPU for me") from None\n',
            ),
        ),
    ),
    Variant("local rank modulo the number of GPUs", 1, ((CHOICE, "gpus[hvd.local_rank() % len(gpus)]"),)),
    Variant("initialised after the arguments", 1, ((INIT, ""), (ARGS, ARGS + INIT))),
    Variant("pinned right before the model", 1, ((LIST + PIN, ""), (MODEL, LIST + PIN + MODEL))),
    Variant("initialised under the main guard", 1, ((INIT, 'if __name__ == "__main__":\n    hvd.init()\n'),)),
    Variant(
        "memory growth by environment variable",
        1,
        ((GROWTH, ""), (INIT, f'{INIT}os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"\n')),
    ),
    Variant(
        "local rank by mpirun's variable",
        1,
        ((CHOICE, 'gpus[int(os.environ["OMPI_COMM_WORLD_LOCAL_RANK"])]'), (INIT, f"import os\n{INIT}")),
    ),
    Variant("GPUs of TensorFlow 2's compatible API", 1, (("tf.config.", "tf.compat.v2.config."),)),
    Variant(
        "each rank prints its GPU",
        1,
        ((GROWTH, f"{GROWTH}    print(hvd.rank(), tf.config.experimental.get_device_details(gpu)['device_name'])\n"),),
    ),
    Variant("all steps done at step 1", 1, (), base=AFTER_6, in_ci=True),
    Variant(
        "wrong at step 4, judged at step 1",
        1,
        ((BROADCAST, "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(root_rank=1))\n"),),
        base="fashion_mnist_after_step_04.py",
    ),
)

_STEP_2 = (
    Variant("verbose by int()", 2, ((VERBOSE, "verbose = int(hvd.rank() == 0)\n"),)),
    Variant("verbose as a truth value", 2, ((VERBOSE, "verbose = hvd.rank() == 0\n"),)),
    Variant("verbose by not", 2, ((VERBOSE, "verbose = not hvd.rank()\n"),)),
    Variant(
        "verbose in an if and else",
        2,
        ((VERBOSE, "if hvd.rank() == 0:\n    verbose = 1\nelse:\n    verbose = 0\n"),),
        in_ci=True,
    ),
    Variant("verbose turned off elsewhere", 2, ((VERBOSE, "verbose = 1\nif hvd.rank() != 0:\n    verbose = 0\n"),)),
    Variant("a line per epoch on rank 0", 2, ((VERBOSE, "verbose = 2 if hvd.rank() == 0 else 0\n"),)),
    Variant("verbose looked up in a list", 2, ((VERBOSE, "verbose = [1, 0][min(hvd.rank(), 1)]\n"),)),
    Variant(
        "no name for verbose",
        2,
        (
            (VERBOSE, "is_chief = hvd.rank() == 0\n"),
            ("if verbose:", "if is_chief:"),
            ("verbose=verbose", "verbose=1 if is_chief else 0"),
        ),
    ),
    Variant("every if asks for the rank", 2, (("if verbose:", "if hvd.rank() == 0:"),)),
    Variant(
        "other ranks are silenced",
        2,
        (
            ("import time\n", "import sys\nimport time\n"),
            (VERBOSE, 'verbose = 1\nif hvd.rank() != 0:\n    sys.stdout = open(os.devnull, "w")\n'),
            ("if verbose:", "if hvd.rank() == 0:"),
        ),
    ),
    Variant("rank of the API for TensorFlow", 2, ((IMPORT, IMPORT_BOTH), ("hvd.rank()", "hvd_tf.rank()"))),
    Variant(
        "callbacks on all ranks that hold their tongue",
        2,
        (
            ("        print(", "        if hvd.rank() == 0:\n            print("),
            (
                REPORTERS,
                "callbacks.append(PrintThroughput(len(x_train)))\n"
                "callbacks.append(PrintTotalTime())\n"
                "if verbose:\n    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n",
            ),
        ),
    ),
    Variant(
        "results printed through a function",
        2,
        (
            (VERBOSE, f"{VERBOSE}\n\ndef say(text):\n    if hvd.rank() == 0:\n        print(text)\n\n"),
            (RESULTS, 'say(f"Test loss: {score[0]:.4f}")\nsay(f"Test accuracy: {score[1]:.4f}")\n'),
        ),
    ),
    Variant(
        "sum of gradients, judged at step 2",
        2,
        ((WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Sum)\n"),),
        base="fashion_mnist_after_step_03.py",
    ),
)


def _own_sgd(name: str) -> tuple[tuple[str, str], ...]:
    """Return edits that average the gradients in an optimizer class of this name."""
    optimizer = (
        f"class {name}(tf.keras.optimizers.SGD):\n"
        "    def apply_gradients(self, grads_and_vars, *args, **kwargs):\n"
        "        mean = [(hvd_tf.allreduce(gradient), variable) for gradient, variable in grads_and_vars]\n"
        "        return super().apply_gradients(mean, *args, **kwargs)\n\n\n"
    )
    return (
        (IMPORT, IMPORT_BOTH),
        (SGD, f"{optimizer}opt = {name}(learning_rate=args.base_lr)\n"),
        (WRAP, ""),
    )


_STEP_3 = (
    Variant(
        "a momentum of NumPy's, which is none",
        3,
        (
            (IMPORT, f"import numpy\n{IMPORT}"),
            (SGD, "opt = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=numpy.float64(0))\n"),
        ),
    ),
    Variant("wrapped where it is made", 3, ((SGD, ""), (WRAP, f"opt = hvd.DistributedOptimizer({MAKE_SGD})\n"))),
    Variant("wrapped in compile", 3, ((WRAP, ""), ("optimizer=opt", "optimizer=hvd.DistributedOptimizer(opt)"))),
    Variant("wrapped by keyword", 3, ((WRAP, "opt = hvd.DistributedOptimizer(optimizer=opt)\n"),)),
    Variant("average asked for by name", 3, ((WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Average)\n"),)),
    Variant(
        "no compression asked for",
        3,
        ((WRAP, "opt = hvd.DistributedOptimizer(opt, compression=hvd.Compression.none)\n"),),
    ),
    Variant(
        "gradients sent in 16 bits",
        3,
        ((WRAP, "opt = hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16)\n"),),
    ),
    Variant(
        "another name for the wrapped one",
        3,
        ((WRAP, "parallel = hvd.DistributedOptimizer(opt)\n"), ("optimizer=opt", "optimizer=parallel")),
    ),
    Variant("optimizer made before the model", 3, ((MODEL, ""), (SGD, ""), (WRAP, SGD + WRAP + MODEL))),
    Variant(
        "optimizer made in a function",
        3,
        (
            (SGD, ""),
            (
                WRAP,
                "\n\ndef make_optimizer(rate):\n"
                "    return hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate))\n\n\n"
                "opt = make_optimizer(args.base_lr)\n",
            ),
        ),
    ),
    Variant(
        "gradients averaged in a training step",
        3,
        own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.allreduce(gradient) for gradient in gradients]",
        ),
        in_ci=True,
    ),
    Variant(
        "gradients summed and divided by the ranks",
        3,
        own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.allreduce(gradient, op=hvd_tf.Sum) / hvd.size() for gradient in gradients]",
        ),
    ),
    Variant(
        "Horovod's gradient tape",
        3,
        own_model(
            "tape = hvd_tf.DistributedGradientTape(tape)",
            "gradients = tape.gradient(loss, self.trainable_variables)",
        ),
    ),
    Variant("averaged in a class called SGD", 3, _own_sgd("SGD")),
    Variant("averaged in a class called MeanSGD", 3, _own_sgd("MeanSGD")),
    Variant(
        "from the weights of rank 1, judged at step 3",
        3,
        ((BROADCAST, "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(1))\n"),),
        base="fashion_mnist_after_step_04.py",
    ),
    Variant("an optimizer of the legacy kind", 3, (("optimizers.SGD(", "optimizers.legacy.SGD("),)),
    Variant("all steps done at step 3", 3, (), base=AFTER_6),
)

_BROADCAST_ALL = (
    "hvd_tf.broadcast_variables(self.model.variables, root_rank=0)",
    "hvd_tf.broadcast_variables(self.model.optimizer.variables, root_rank=0)",
)


def _own_broadcast(method: str, *body: str) -> tuple[tuple[str, str], ...]:
    return (
        (IMPORT, IMPORT_BOTH),
        (LIST_OF_CALLBACKS, own_callback("Broadcast", method, *body)),
        (BROADCAST, "callbacks.append(Broadcast())\n"),
    )


_STEP_4 = (
    Variant("root rank by keyword", 4, (("Callback(0)", "Callback(root_rank=0)"),)),
    Variant(
        "callbacks imported from Horovod",
        4,
        (
            (IMPORT, IMPORT + "from horovod.tensorflow.keras import callbacks as hvd_callbacks\n"),
            ("hvd.callbacks.", "hvd_callbacks."),
        ),
    ),
    Variant(
        "the callback imported by name",
        4,
        (
            (IMPORT, IMPORT + "from horovod.tensorflow.keras.callbacks import BroadcastGlobalVariablesCallback\n"),
            ("hvd.callbacks.", ""),
        ),
    ),
    Variant(
        "broadcast in the list's literal",
        4,
        ((BROADCAST, ""), (LIST_OF_CALLBACKS, f"callbacks = [{BROADCAST_CALLBACK}]\n")),
    ),
    Variant(
        "broadcast inserted at the front",
        4,
        ((BROADCAST, ""), (STOP, STOP + "callbacks.insert(0, hvd.callbacks.BroadcastGlobalVariablesCallback(0))\n")),
    ),
    Variant("broadcast last of all callbacks", 4, ((BROADCAST, ""), (REPORTERS, REPORTERS + BROADCAST))),
    Variant(
        "broadcast added in the call of fit",
        4,
        ((BROADCAST, ""), (GIVEN, f"    callbacks=[{BROADCAST_CALLBACK}, *callbacks],\n")),
    ),
    Variant("broadcast by +=", 4, ((BROADCAST, f"callbacks += [{BROADCAST_CALLBACK}]\n"),)),
    Variant(
        "broadcast by hand before fit",
        4,
        (
            (IMPORT, IMPORT_BOTH),
            (BROADCAST, ""),
            (
                COMPILE,
                COMPILE + "hvd_tf.broadcast_variables(model.variables, root_rank=0)\n"
                "hvd_tf.broadcast_variables(opt.variables, root_rank=0)\n",
            ),
        ),
    ),
    Variant(
        "each variable assigned from rank 0",
        4,
        (
            (IMPORT, IMPORT_BOTH),
            (BROADCAST, ""),
            (
                COMPILE,
                f"{COMPILE}for variable in model.variables:\n"
                "    variable.assign(hvd_tf.broadcast(variable, root_rank=0))\n",
            ),
        ),
    ),
    Variant(
        "weights sent as one object",
        4,
        (
            (IMPORT, IMPORT_BOTH),
            (BROADCAST, ""),
            (COMPILE, f"{COMPILE}model.set_weights(hvd_tf.broadcast_object(model.get_weights(), root_rank=0))\n"),
        ),
    ),
    Variant(
        "own callback after the first batch",
        4,
        _own_broadcast(
            "on_train_batch_end(self, batch, logs=None)", "if batch == 0:", *(f"    {line}" for line in _BROADCAST_ALL)
        ),
    ),
    Variant(
        "own callback before the first batch",
        4,
        _own_broadcast(
            "on_train_batch_begin(self, batch, logs=None)",
            "if batch == 0:",
            *(f"    {line}" for line in _BROADCAST_ALL),
        ),
        in_ci=True,
    ),
    Variant("own callback as training begins", 4, _own_broadcast("on_train_begin(self, logs=None)", *_BROADCAST_ALL)),
    Variant(
        "own callback after every batch",
        4,
        _own_broadcast("on_train_batch_end(self, batch, logs=None)", *_BROADCAST_ALL),
    ),
    Variant(
        "local steps, judged at step 4",
        4,
        ((TRAIN, "steps_per_epoch=len(train_iter) // hvd.local_size(),"),),
        base="fashion_mnist_after_step_05.py",
    ),
)

_STEP_5 = (
    Variant(
        "passes divided before they are tripled",
        5,
        ((VALIDATE, "validation_steps=3 * (len(test_iter) // hvd.size()),"),),
    ),
    Variant(
        "steps rounded up",
        5,
        (
            ("import argparse\n", "import argparse\nimport math\n"),
            (TRAIN, "steps_per_epoch=math.ceil(len(train_iter) / hvd.size()),"),
            (VALIDATE, "validation_steps=math.ceil(3 * len(test_iter) / hvd.size()),"),
        ),
    ),
    Variant(
        "steps with a fraction",
        5,
        (
            (TRAIN, "steps_per_epoch=len(train_iter) / hvd.size(),"),
            (VALIDATE, "validation_steps=3 * len(test_iter) / hvd.size(),"),
        ),
        in_ci=True,
    ),
    Variant("steps rounded up by minus signs", 5, ((TRAIN, "steps_per_epoch=-(-len(train_iter) // hvd.size()),"),)),
    Variant(
        "steps rounded to the nearest",
        5,
        (
            (TRAIN, "steps_per_epoch=round(len(train_iter) / hvd.size()),"),
            (VALIDATE, "validation_steps=round(3 * len(test_iter) / hvd.size()),"),
        ),
    ),
    Variant(
        "steps cut by int()",
        5,
        (
            (TRAIN, "steps_per_epoch=int(len(train_iter) / hvd.size()),"),
            (VALIDATE, "validation_steps=int(3 * len(test_iter) / hvd.size()),"),
        ),
    ),
    Variant(
        "one step at least",
        5,
        (
            (TRAIN, "steps_per_epoch=max(1, len(train_iter) // hvd.size()),"),
            (VALIDATE, "validation_steps=max(1, (len(test_iter) * 3) // hvd.size()),"),
        ),
    ),
    Variant(
        "steps counted beforehand",
        5,
        (
            (MODEL, "ranks = hvd.size()\ntrain_steps, _ = divmod(len(train_iter), ranks)\n" + MODEL),
            (TRAIN, "steps_per_epoch=train_steps,"),
            (VALIDATE, "validation_steps=len(test_iter) * 3 // ranks,"),
        ),
    ),
    Variant(
        "steps counted in images",
        5,
        (
            (TRAIN, "steps_per_epoch=len(x_train) // (args.batch_size * hvd.size()),"),
            (VALIDATE, "validation_steps=3 * len(x_test) // (args.val_batch_size * hvd.size()),"),
        ),
    ),
    Variant(
        "each rank on images of its own",
        5,
        (
            (
                "train_gen.flow(x_train, y_train, ",
                "train_gen.flow(x_train[hvd.rank() :: hvd.size()], y_train[hvd.rank() :: hvd.size()], ",
            ),
            (TRAIN, "steps_per_epoch=len(x_train) // hvd.size() // args.batch_size,"),
        ),
    ),
    Variant(
        "a share of its own for each rank",
        5,
        (
            (
                FLOW,
                FLOW.replace("x_train, y_train", "x_train[hvd.rank()::hvd.size()], y_train[hvd.rank()::hvd.size()]"),
            ),
            (TRAIN, "steps_per_epoch=len(x_train) // hvd.size() // args.batch_size,"),
        ),
    ),
    Variant("all steps done at step 5", 5, (), base=AFTER_6),
)

_LOOP = "for name, value in sorted(logs.items()):"


def _own_average(*body: str) -> tuple[tuple[str, str], ...]:
    return (
        (LIST_OF_CALLBACKS, own_callback("AverageMetrics", "on_epoch_end(self, epoch, logs=None)", *body)),
        (AVERAGE, "callbacks.append(AverageMetrics())\n"),
    )


_STEP_6 = (
    Variant("the finished program", 6, (), base="fashion_mnist_solution.py"),
    Variant("metrics averaged first", 6, ((AVERAGE, ""), (BROADCAST, AVERAGE + BROADCAST))),
    Variant(
        "logs copied and completed by a callback",
        6,
        (
            (
                LIST_OF_CALLBACKS,
                own_callback(
                    "StopAtNaN",
                    "on_epoch_end(self, epoch, logs=None)",
                    "own = dict(logs)",
                    'logs.setdefault("epochs", epoch + 1)',
                    'self.model.stop_training = own["loss"] != own["loss"]',
                ),
            ),
            (AVERAGE, f"{AVERAGE}callbacks.append(StopAtNaN())\n"),
        ),
    ),
    Variant(
        "odd and right: enumerations, copies, patterns, the name of the host",
        6,
        (
            ("import argparse\n", "import argparse\nimport collections\nimport copy\nimport csv\nimport enum\n"),
            ("import os\nimport time\n", "import os\nimport re\nimport socket\nimport time\n"),
            (
                ARGS,
                ARGS
                + """__author__ = "A. Learner"
tf.config.run_functions_eagerly(False)
Place = collections.namedtuple("Place", "host rank")


class Kind(enum.Enum):
    FIRST = "first"
    OTHER = "other"


place = Place(socket.gethostname(), 0)._replace(rank=hvd.rank())
kind = Kind.OTHER if place.rank else Kind.FIRST
settings = copy.copy(vars(args))
with open(os.devnull, mode="w") as file:
    csv.writer(file).writerow([kind.value, re.sub(r"\\W", "_", place.host), os.path.relpath("../logs"), *settings])
""",
            ),
        ),
    ),
    Variant(
        "averaged by what stops",
        6,
        (
            (AVERAGE, ""),
            (
                "        self.reached = self.reached + 1 if",
                "        for name in sorted(logs):\n"
                "            logs[name] = hvd.allreduce(float(logs[name]), name=name).numpy()\n"
                "        self.reached = self.reached + 1 if",
            ),
        ),
    ),
    Variant("metrics averaged after the schedule", 6, ((AVERAGE, ""), (SCHEDULE, SCHEDULE + AVERAGE))),
    Variant(
        "averaging inserted at the front",
        6,
        ((AVERAGE, ""), (MODEL, "callbacks.insert(0, hvd.callbacks.MetricAverageCallback())\n" + MODEL)),
    ),
    Variant(
        "all callbacks in one literal",
        6,
        (
            (BROADCAST, ""),
            (AVERAGE, ""),
            (SCHEDULE, ""),
            (STOP, ""),
            (
                LIST_OF_CALLBACKS,
                "callbacks = [\n"
                "    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n"
                "    hvd.callbacks.MetricAverageCallback(),\n"
                "    tf.keras.callbacks.LearningRateScheduler(lr_schedule),\n"
                "    StopAtAccuracy(args.target_accuracy, args.patience),\n"
                "]\n",
            ),
        ),
    ),
    Variant(
        "callbacks from a function",
        6,
        (
            (BROADCAST, ""),
            (AVERAGE, ""),
            (
                LIST_OF_CALLBACKS,
                "def horovod_callbacks():\n"
                f"    return [{BROADCAST_CALLBACK}, hvd.callbacks.MetricAverageCallback()]\n"
                "\n\ncallbacks = horovod_callbacks()\n",
            ),
        ),
    ),
    Variant(
        "own averaging over the items", 6, _own_average(_LOOP, "    logs[name] = float(hvd.allreduce(float(value)))")
    ),
    Variant(
        "own averaging from a sum",
        6,
        _own_average(
            _LOOP,
            "    total = hvd.allreduce(float(value), name=name, op=hvd.Sum)",
            "    logs[name] = float(total) / hvd.size()",
        ),
    ),
    Variant(
        "own averaging of the whole list at once",
        6,
        _own_average(
            "names, values = zip(*sorted(logs.items()))",
            "means = hvd.allreduce([float(value) for value in values]).numpy()",
            "logs.update(zip(names, means.tolist()))",
        ),
    ),
    Variant(
        "own averaging that reads by name",
        6,
        _own_average("for name in sorted(logs):", "    logs[name] = float(hvd.allreduce(float(logs[name])))"),
    ),
    Variant(
        "training in a function main",
        6,
        (
            (
                MODEL + THE_REST,
                f'def main():\n{textwrap.indent(MODEL + THE_REST, "    ")}\n\nif __name__ == "__main__":\n    main()\n',
            ),
        ),
    ),
    Variant(
        "no comments of the course",
        6,
        tuple(
            (line + "\n", "")
            for line in (SOLUTIONS / AFTER_6).read_text().splitlines()
            if line.strip().startswith("# Step")
        ),
    ),
    Variant("another alias for Horovod", 6, ((IMPORT, "import horovod.tensorflow.keras as hk\n"), ("hvd.", "hk."))),
    Variant(
        "broadcast and averaging extended onto the list",
        6,
        (
            (AVERAGE, ""),
            (
                BROADCAST,
                "from horovod.tensorflow.keras.callbacks import BroadcastGlobalVariablesCallback, "
                "MetricAverageCallback\n\n"
                "callbacks.extend([BroadcastGlobalVariablesCallback(root_rank=0), MetricAverageCallback()])\n",
            ),
        ),
    ),
    Variant(
        "callbacks and optimizer made in fit and compile",
        6,
        (
            (BROADCAST, ""),
            (WRAP, ""),
            ("optimizer=opt", "optimizer=hvd.DistributedOptimizer(opt)"),
            (GIVEN, f"    callbacks=callbacks + [{BROADCAST_CALLBACK}],\n"),
        ),
        in_ci=True,
    ),
)

CORRECT = (*_STEP_1, *_STEP_2, *_STEP_3, *_STEP_4, *_STEP_5, *_STEP_6)

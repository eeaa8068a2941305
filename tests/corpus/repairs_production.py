"""Repairs of the cases of the second part, and tries that are none."""

from tests.corpus.production_passages import GIVE_UP
from tests.corpus.repair import Repair, fails, repairs

_WAIT = (
    "# No host may lack the data.\n"
    'failures = int(hvd.allreduce(tf.constant(failures), op=hvd.Sum, name="data are here"))\n'
    f"if failures:\n{GIVE_UP}\n"
)
_TRAIN_GEN = "train_gen = ImageDataGenerator(\n"
_TRAIN_ITER = 'train_iter = train_gen.flow_from_directory(data_dir / "train", shape, batch_size=args.batch_size)\n'
_VAL_ITER = 'val_iter = val_gen.flow_from_directory(data_dir / "val", shape, batch_size=args.val_batch_size)\n'
_STAGED = _TRAIN_ITER + _VAL_ITER

_SAVE = '        self.model.save(path, save_format="h5")\n'
_LEFT = "    # Those before initial_epoch are done.\n    epochs=args.epochs - initial_epoch,\n"
_RATE = "args.base_lr * 0.1**drops"
_WARMUP = "args.base_lr, args.warmup_epochs"

REPAIRS: list[Repair] = [
    # 14: no rank waits for the copy
    repairs(14, "waiting before the images are listed")((_WAIT, ""), (_TRAIN_GEN, _WAIT + _TRAIN_GEN)),
    repairs(14, "listed after the wait")((_STAGED, ""), (_WAIT, _WAIT + _STAGED)),
    fails(14, "a wait before the copy")(
        ("failures = 0\n", 'hvd.allreduce(tf.constant(0), name="begin")\nfailures = 0\n')
    ),
    # 15: shares by local rank
    repairs(15, "the column of the rank")(("table[:, hvd.local_rank()]", "table[:, hvd.rank()]")),
    repairs(15, "every size-th image")(("table[:, hvd.local_rank()]", "table.ravel()[hvd.rank() :: hvd.size()]")),
    fails(15, "an order for each host")(("default_rng(epoch)", "default_rng((hvd.cross_rank(), epoch))")),
    # 16: a seed for each rank
    repairs(16, "the epoch alone")(("default_rng((hvd.rank(), epoch))", "default_rng(epoch)")),
    repairs(16, "the number of ranks in place of the rank")(("(hvd.rank(), epoch)", "(hvd.size(), epoch)")),
    fails(16, "the local rank in place of the rank")(("(hvd.rank(), epoch)", "(hvd.local_rank(), epoch)")),
    # 17: written under the final name
    repairs(17, "another name, then the final one")(
        (
            _SAVE,
            '        unfinished = path.with_name(f"unfinished-{path.name}")\n'
            '        self.model.save(unfinished, save_format="h5")\n'
            "        unfinished.rename(path)\n",
        )
    ),
    repairs(17, "replaced by the operating system's function")(
        (
            _SAVE,
            '        self.model.save(f"{path}.new", save_format="h5")\n        os.replace(f"{path}.new", path)\n',
        ),
    ),
    fails(17, "copied once it is complete")(
        (
            _SAVE,
            '        self.model.save(path.with_suffix(".partial"), save_format="h5")\n'
            '        path.write_bytes(path.with_suffix(".partial").read_bytes())\n',
        )
    ),
    # 18: fit counts from 1 again
    repairs(18, "the epoch to begin with, and the last one")(
        (_LEFT, "    epochs=args.epochs,\n    initial_epoch=initial_epoch,\n")
    ),
    repairs(18, "both in a dictionary", in_ci=True)(
        (_LEFT, '    **{"initial_epoch": initial_epoch, "epochs": args.epochs},\n')
    ),
    fails(18, "all epochs again")((_LEFT, "    epochs=args.epochs,\n")),
    # 19: the optimizer begins anew
    repairs(19, "the model loaded with its optimizer")(
        ("        model.load_weights(file.name)\n", "        return hvd.load_model(file.name)\n"),
        ("    resume(initial_epoch)\n", "    model = resume(initial_epoch)\n"),
    ),
    repairs(19, "the model of the module replaced")(
        ("        model.load_weights(file.name)\n", "        model = hvd.load_model(file.name)\n"),
        (
            '    """Continue from the checkpoint after this epoch, on every rank."""\n',
            '    """Continue from the checkpoint after this epoch, on every rank."""\n    global model\n',
        ),
    ),
    fails(19, "the step counter alone")(
        (
            "        model.load_weights(file.name)\n",
            "        model.load_weights(file.name)\n"
            "        model.optimizer.iterations.assign(epoch * steps_of(train_iter))\n",
        )
    ),
    # 20: rank 0 alone loads
    repairs(20, "loaded from the bytes of rank 0")(
        (
            "if initial_epoch and checkpoint.exists() and hvd.rank() == 0:\n"
            "    # The broadcast of weights and optimizer takes care of the other ranks.\n"
            "    model = hvd.load_model(checkpoint)\n",
            "if initial_epoch:\n"
            "    content = broadcast_object(checkpoint.read_bytes() if hvd.rank() == 0 else None, root_rank=0)\n"
            "    with tempfile.TemporaryDirectory() as folder:\n"
            '        copy = Path(folder, "checkpoint.h5")\n'
            "        copy.write_bytes(content)\n"
            "        model = hvd.load_model(copy)\n",
        )
    ),
    repairs(20, "a copy of rank 0's file on every rank")(
        (
            "checkpoint = checkpoint_path(initial_epoch)\n",
            "checkpoint = checkpoint_path(initial_epoch)\n"
            "newest = initial_epoch and hvd.rank() == 0\n"
            'content = broadcast_object(checkpoint.read_bytes() if newest else b"", root_rank=0)\n'
            "if hvd.rank():\n"
            '    checkpoint = Path(tempfile.mkdtemp(), "checkpoint.h5")\n'
            "    checkpoint.write_bytes(content)\n",
        ),
        ("if initial_epoch and checkpoint.exists() and hvd.rank() == 0:\n", "if initial_epoch:\n"),
    ),
    fails(20, "a rank of each host")(("checkpoint.exists() and hvd.rank() == 0", "hvd.local_rank() == 0")),
    # 21: the schedule has the rate of one process
    repairs(21, "the base rate multiplied once, for all")(
        ("SGD(learning_rate=args.base_lr * hvd.size()", "SGD(learning_rate=args.base_lr"),
        ("\n\ndef lr_schedule(epoch):\n", "\nargs.base_lr *= hvd.size()\n\n\ndef lr_schedule(epoch):\n"),
    ),
    repairs(21, "multiplied in both")(
        (_RATE, "args.base_lr * hvd.size() * 0.1**drops"),
        (_WARMUP, "args.base_lr * hvd.size(), args.warmup_epochs"),
    ),
    fails(21, "in the schedule alone")((_RATE, "args.base_lr * hvd.size() * 0.1**drops")),
]

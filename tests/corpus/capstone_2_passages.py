"""Passages of the second capstone's solution that rows replace."""

from tests.corpus.variant import passage

SOLUTION = "fashion_trainer_solution.py"

SHARE = passage(SOLUTION, "share = len(images) // hvd.size()")
OWN = passage(SOLUTION, "own = slice(")
TAKEN = "        images, labels = images[own], labels[own]\n"
RATE = "learning_rate=args.rate * hvd.size()"
WRAPPED = "hvd.DistributedOptimizer(optimizer)"
MAKE_FOLDER = "        self.folder.mkdir(parents=True, exist_ok=True)\n"
PARTIAL = '        partial = self.folder / "partial.h5"\n'
SAVE = '        self.model.save(partial, save_format="h5")\n'
RENAME = "        partial.replace(checkpoint(self.folder, epoch + 1))\n"
DIRECT = '        self.model.save(checkpoint(self.folder, epoch + 1), save_format="h5")\n'
NAMES = passage(SOLUTION, "names = [re.fullmatch(")
LAST = passage(SOLUTION, "return max((int(name[1])")
LOAD = passage(SOLUTION, "saved = checkpoint(folder, epochs).read_bytes()", "return hvd.load_model(file.name)")
LOADED = "return hvd.load_model(file.name)"
DONE = passage(SOLUTION, "done = broadcast_object(")
MODEL = "    model = load_model(args.log_dir, done) if done else new_model(args)\n"
BROADCAST = "        hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n"
AVERAGE = "        hvd.callbacks.MetricAverageCallback(),\n"
TARGET = "        Target(args.target),\n"
OF_RANK_0 = passage(SOLUTION, "callbacks += [").removeprefix("        ")
UNDER_RANK_0 = f"    if hvd.rank() == 0:\n        {OF_RANK_0}"
FIT = "    fit = model.fit(\n"
INITIAL = "        initial_epoch=done,\n"
EPOCHS = "        epochs=args.epochs,\n"
VERBOSE = "        verbose=2 if hvd.rank() == 0 else 0,\n"

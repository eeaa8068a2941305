"""Print on which host this rank runs, and whether a folder exists there.

mpirun -np 4 --hostfile /cluster/hostfile python where.py FOLDER
"""

import os
import platform
import sys
from pathlib import Path

import horovod.tensorflow as hvd

hvd.init()
place = f"{platform.node()}, local rank {hvd.local_rank()}, cross rank {hvd.cross_rank()}"
folder = Path(sys.argv[1])
found = "is there" if folder.is_dir() else "is missing"
print(f"rank {hvd.rank()} of {hvd.size()}: {place}, RUN={os.environ.get('RUN')}, {folder} {found}")
hvd.shutdown()

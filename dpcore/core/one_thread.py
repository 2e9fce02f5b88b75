"""One thread for matrix products, where this is imported before numpy.

OpenBLAS starts a thread for each core, and they wait for each other actively: beside other work,
as in a pool of workers, a run took up to ten times the processor time of one thread, and three
times as long. Who sets the variable decides.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

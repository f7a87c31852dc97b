"""Python runs this file at its start where its folder is on PYTHONPATH: a GPU, where there is none.

A torch that is built without CUDA can pretend none.
"""

import torch

if torch.version.cuda and not torch.cuda.is_available():
    import pretended_gpu

    kept = pretended_gpu.install()

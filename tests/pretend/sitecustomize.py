"""Python runs this file at its start where its folder is on PYTHONPATH: a GPU, where there is none."""

import torch

if not torch.cuda.is_available():
    import pretended_gpu

    kept = pretended_gpu.install()

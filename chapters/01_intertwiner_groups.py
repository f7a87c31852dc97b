# ---
# jupytext:
#   text_representation:
#     extension: .py
#     format_name: percent
# kernelspec:
#   display_name: Python 3
#   language: python
#   name: python3
# ---

# %% [markdown]
# # Intertwiner groups
#
# This run: {{ this_run }}. {cite}`godfrey2022` $x^2$

# %% tags=["parameters"]
from typing import Literal

seed: int = 0  # of everything random

# %% mystnb={"figure": {"name": "fig-x", "caption": "A line."}, "image": {"alt": "a line"}}
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
ax.plot([1, 2, seed])
plt.close(fig)
fig

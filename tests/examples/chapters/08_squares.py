# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 8 · Is the area of a square its side times itself?
#
# **You need** {doc}`01_intertwiner_groups`. **You will learn** to count. **This run.** {{ this_run }}.
#
# It is: a square of side 9 has {fact}`08_squares.largest_area:.0f` points ({ref}`the record <rec-areas>`).

# %% tags=["parameters"]
seed: int = 0  # of everything random
side: int = 5  # at least 1

# %% tags=["hide-input"] figure="fig-area-of-side"
from intertwine_book.figures.style import new_figure, use_style

use_style()
figure, axis = new_figure(height=2.2)
axis.plot(range(side + 1), [k**2 for k in range(side + 1)], "o-")
axis.set(xlabel="side", ylabel="area")
figure

# %% [markdown]
# :::{figure} #fig-area-of-side
# ---
# alt: A curve that rises ever more steeply, with a dot at each side.
# ---
# The area grows faster than the side.
# :::

# %% [markdown]
# ## Count, multiply, compare
#
# {numref}`fig-area-of-side` shows the areas. We count the points of a square, row by row.


# %%
def counted(side):
    return sum(1 for row in range(side) for column in range(side))


counted(side)

# %% [markdown]
# Then we multiply.

# %%
side**2

# %% [markdown]
# Both agree for this side.

# %%
counted(side) == side**2

# %% [markdown]
# Both agree for smaller ones, too.

# %%
all(counted(k) == k**2 for k in range(side))

# %% [markdown]
# ## Which one should I use?
#
# :::{list-table} To find an area
# :header-rows: 1
#
# * - situation
#   - tool
#   - trap
# * - any square
#   - `side**2`
#   - none
# * - a shape of points
#   - `counted(side)`
#   - it is slow
# :::
#
# ## Adapt this
#
# Another group:

# %%
from intertwine.groups import GReLU

print(GReLU(3).dimension)

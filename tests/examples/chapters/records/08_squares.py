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
# # R8 · Record: squares
#
# {doc}`../08_squares` multiplies; here is the evidence. **This run.** {{ this_run }}.

# %% tags=["parameters"]
from typing import Literal

scale: Literal["smoke", "quick", "desk", "paper"] = "quick"  # quick reads rows, desk computes missing ones
own: str = ""  # a folder for rows of your own code

# %% tags=["hide-input"]
from intertwine_book.figures.curves import single_curves
from intertwine_book.record import Record
from intertwine_book.told import Told

record = Record.at("08_squares", scale, own)
told = Told(record, "08_squares", scale)
SIDES = range(3) if scale == "smoke" else range(10)

# %% [markdown]
# (rec-areas)=
# ## Is the area of a square its side times itself?
#
# {cite:t}`godfrey2022` does not say so.


# %%
@record.table(side=SIDES, shape=["square"])
def areas(side, shape):
    area = sum(1 for row in range(side) for column in range(side))
    return {"area": area, "error": abs(area - side * side)}


# %% tags=["hide-input"] figure="fig-areas"
single_curves(areas, "side", "area", "shape", xlabel="side", ylabel="area")

# %% [markdown]
# :::{figure} #fig-areas
# ---
# alt: A curve that rises from 0, ever more steeply, with a dot at each side.
# ---
# The area grows with the square of the side, here of up to 9.
# :::

# %%
here = {"paper": "godfrey2022", "place": "nowhere", "link": "rec-areas"}
exact = {"kind": "universal", "error": 0, "error_from": "counting", "cases": ["side"]}
told.claim(
    "square-of-its-side", "The area of a square is its side times itself.", areas, "error", **exact, **here
)
told.check("The largest square has the largest area.", areas["area"].is_monotonic_increasing)
told.say(largest_area=areas["area"].max())
told.verdicts()

# %% [markdown]
# *What would change it*: another geometry.

# %%
told.board()

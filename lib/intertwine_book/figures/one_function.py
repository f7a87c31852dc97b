"""One function and its orbit: a network whose two hidden neurons a reader swaps and scales."""

import json

from IPython.display import HTML

from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS

_PAGE = """<div class="widget" id="one-function">
<div class="panels two">
<figure><svg viewBox="0 0 260 180" role="img"
aria-label="A network with one input, two hidden neurons and one output; weights stand on its edges"></svg>
<figcaption>the network</figcaption></figure>
<figure><svg viewBox="0 0 260 180" role="img"
aria-label="The graph of the function, which stays, and of the two hidden neurons, which move"></svg>
<figcaption>its function and its hidden neurons</figcaption></figure>
</div>
<p><label>scale the blue neuron: α <input type="range" min="-2" max="2" step="0.05" value="0"
aria-label="logarithm of α to base 2"></label> <button type="button">swap the neurons</button>
<button type="button">as given</button></p>
<p><output aria-live="polite"></output></p>
</div>
"""


def one_function() -> HTML:
    """f(x) = 3 ReLU(x + ½) − ReLU(−2x + 1) as a network with a slider for a scaling, and a button for a swap.

    Example:
        >>> "swap" in one_function().data
        True

    What enters the blue neuron is multiplied by α between ¼ and 4, and what leaves it is divided by α; the
    graph of f beside it stays. Nothing is loaded.
    """
    return HTML(_PAGE + script("one_function", "one-function", json.dumps(COLOURS)))

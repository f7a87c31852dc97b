"""Formulas as docstrings write them, in Unicode, in the notation of MathJax."""

import re

_GROUP = re.compile(r"([_^])(?:\{([^{}]*)\}|\(([^()]*)\)|([A-Za-zΑ-Ωα-ω0-9]+|-\d+|.))")
_TEX = {
    r"\b([RC])(?=[_^])": r"\\mathbb \1",
    r"Σ(?=(_⦃\w+⦄)? \w)": r"\\sum",
    r"√\\\{(.*?)\\\}": r"\\sqrt{\1}",
    r"‖": r"\\Vert ",
    r"\*": r"\\ast ",
    r"·": r"\\cdot ",
    r"²": "^2",
    r"ᵀ": r"^{\\mathsf T}",
    r"⁻¹": "^{-1}",
    r"(?<![A-Za-z])(GL|HSIC|CKA|LS|LR|ReLU|span|rank|min|max|tr|diag)(?![A-Za-z])": r"\\mathrm{\1}",
    r"⦃": "{",
    r"⦄": "}",
}
_SYMBOL = re.compile(
    r"(?<![\w\\`.^])"
    r"((?:[A-Za-zΑ-Ωα-ω]|\d+(?=\^)|GL|HSIC|SO)(?:[_^](?:\{[^}]+\}|\([^)]+\)|\*|-\d+|(?:ReLU|min|max|\w{1,2})(?!\w)))+)(?!\w)"
)


def as_tex(formula: str) -> str:
    """Braces after _ and ^ group, others are shown; a word that is no product of letters is upright.

    Example:
        >>> print(as_tex("A⁻¹x ∈ R_{>0}, Σ_i λ_i ≤ ‖x‖"), as_tex("{a : a ∈ G_ReLU}"))
        A^{-1}x ∈ \\mathbb R_{>0}, \\sum_{i} λ_{i} ≤ \\Vert x\\Vert \\{a : a ∈ G_{\\mathrm{ReLU}}\\}
    """
    text = re.sub(r"[{}]", r"\\\g<0>", _GROUP.sub(_grouped, formula))
    for pattern, tex in _TEX.items():
        text = re.sub(pattern, tex, text)
    return text.strip()


def _grouped(found: re.Match[str]) -> str:
    return f"{found[1]}⦃{found[2] or found[3] or found[4]}⦄"


def typeset(text: str) -> str:
    """Text in which symbols with an index or a power are formulas.

    Example:
        >>> typeset("H_σ lies in R^* for every batch_size")
        '$H_σ$ lies in $R^*$ for every batch_size'
    """
    return _SYMBOL.sub(r"$\1$", text)

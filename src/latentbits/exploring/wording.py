"""Numbers, lists and columns as they are written in sentences."""

from __future__ import annotations

from typing import Any


def share_told(share: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> share_told(0.0), share_told(0.004), share_told(0.42), share_told(0.997), share_told(0.9999)
    ('0%', '0.4%', '42%', '99.7%', 'over 99.9%')
    """
    if 0 < share < 0.0005:
        return "under 0.1%"
    if 0.9995 <= share < 1:
        return "over 99.9%"
    return f"{share:.1%}" if 0 < share < 0.0095 or 0.9905 < share < 1 else f"{share:.0%}"


def number_told(value: float) -> str:
    """A number as people write it, about four digits; exponents only of very small and very large ones.

    Examples
    --------
    >>> number_told(1144940.0), number_told(0.012344), number_told(-37.0), number_told(2.5e-7)
    ('1,144,940', '0.01234', '−37', '2.5e-07')
    """
    size = abs(value)
    if size >= 1e12:
        told = f"{size:.3g}"
    else:
        told = f"{size:,.0f}" if size == int(size) or size >= 1000 else f"{size:.4g}"
    return f"−{told}" if value < 0 else told


def signed_told(value: float, digits: int = 2) -> str:
    """A correlation, or a difference, with a minus sign of the right length.

    Examples
    --------
    >>> signed_told(-0.9), signed_told(0.25), signed_told(-0.001)
    ('−0.90', '0.25', '0.00')
    """
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def listed(words: list[str], last: str = "and") -> str:
    """Words with commas and an 'and'.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"], "or"), listed(["a", "b", "c"])
    ('a', 'a or b', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def column_told(name: Any) -> str:
    """A column within a sentence; one without a name is called by its number.

    Examples
    --------
    >>> column_told("smokes"), column_told("7")
    ('smokes', 'column 7')
    """
    return f"column {name}" if str(name).isdigit() else str(name)

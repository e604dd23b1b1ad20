"""The arg max alone: which class has the largest score, and nothing about by how much."""

import numpy as np

from degreespar.engine.ops import Ops
from degreespar.engine.ring import Integers
from degreespar.engine.secret import Secret


def label_bits(classes: int) -> int:
    """Bits that a class's number needs."""
    return max((classes - 1).bit_length(), 1)


def largest_class(ops: Ops, logits: Secret) -> Secret:
    """classes - 1 - arg max of logits (..., classes), modulo 2^label_bits; the first of equal ones wins.

    Functionality: from shares of the scores to shares of one small integer; nobody learns anything else.
    1. Every score moves up by label_bits bits, and the free low bits take classes - 1 - i for class i
       (local): keys of different classes differ, and among equal scores the first is the largest.
    2. The maximum of the keys (a tree of comparisons, `maximum`).
    3. Its low bits are the number looked for: modulo 2^label_bits shares are shares of them (local), and
       all bits of the score fall away. As the maximum's shares are uniform, so are those of what is left.
    """
    ops.part("label")
    classes = logits.shape[-1]
    bits = label_bits(classes)
    unit = 2.0 ** -(logits.frac_bits + bits)
    keys = ops.add_public(
        ops.refine(logits, logits.frac_bits + bits),
        unit * np.arange(classes - 1, -1, -1, dtype=np.float64),
        logits.bound + unit * classes,
    )
    return ops.low_bits(ops.maximum(keys), bits)


def class_of(opened: Integers, classes: int) -> Integers:
    """The class behind what `largest_class` opens to."""
    return classes - 1 - (opened & ((1 << label_bits(classes)) - 1))

"""What a whole inference risks, statistical distances and wrong values, from its plans (docs/security.md).

    python scripts/union_bound.py vit-b

Counts every pair of a program that ciphertexts may make and every entry of a hidden matrix product, and
adds up what they risk: wraps of masked products entry by entry (a wrong value), floods as the root of the
sum of squares (a statistical distance); docs/security-lattice.md.
"""

import math
import sys
from collections import Counter

from degreespar._native import Plan
from degreespar.bench.geometries import names, vit_geometry
from degreespar.bench.made_model import made_policy, made_public
from degreespar.engine.ops import Ops
from degreespar.engine.trace import TraceBackend
from degreespar.program.vit import VitProgram

WRAP_BITS = 40.0
"""How rarely a masked product wraps, at least."""
FLOOD_BITS = 40.0
"""Least, per flooded coefficient or entry."""
SQUARINGS, GELU_ORDER = 6, 4
PAIRS = {"square pair batch": 1, "cross pair batch": 1, "product triple batch": 1}
CIPHERTEXTS_AN_ENTRY = 2
"""At most: one for each plaintext prime; each carries one flooded coefficient an entry."""


def counted(plans: list[Plan]) -> Counter[str]:
    """Masked and flooded values by kind."""
    entries: Counter[str] = Counter()
    for plan in plans:
        for kind, _, shape in plan.correlations():
            if kind in PAIRS:
                entries[kind] += shape[-1]
            elif kind == "linear correlation":
                entries[kind] += shape[0] * shape[2]
            elif kind == "matrix triple":
                entries[kind] += 2 * shape[0] * shape[1] * shape[3]  # both cross terms
    return entries


def main() -> None:
    """Prints the table of one geometry."""
    geometry = vit_geometry(sys.argv[1] if sys.argv[1:] else "vit-b")
    policy = made_policy(geometry, SQUARINGS, GELU_ORDER)
    trace = TraceBackend()
    VitProgram(made_public("counted", geometry, policy)).logits(Ops(trace), None)
    entries = counted([plan for _, plan in trace.windows])
    masked = sum(count for kind, count in entries.items() if kind in PAIRS)
    flooded = CIPHERTEXTS_AN_ENTRY * masked + sum(entries.values()) - masked
    for kind, count in sorted(entries.items()):
        print(f"{kind:<24}{count:>14,} entries")
    print(
        f"wraps:  {masked:,} at most 2^-{WRAP_BITS:.0f} each, together 2^{math.log2(masked) - WRAP_BITS:.1f}"
    )
    together = math.log2(flooded) / 2 - FLOOD_BITS
    print(f"floods: {flooded:,} at most 2^-{FLOOD_BITS:.0f} each, together 2^{together:.1f}")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] not in names():
        sys.exit(f"usage: union_bound.py {'|'.join(names())}")
    main()

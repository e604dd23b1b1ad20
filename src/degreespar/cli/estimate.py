"""`degreespar estimate`: what an answer will cost, before anything runs."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.artifact import PublicPart, read_client
from degreespar.bench.geometries import names, vit_geometry
from degreespar.bench.made_model import made_policy, made_public
from degreespar.bench.networks import NETWORKS, network_named
from degreespar.cli.arguments import new_command, positive_count
from degreespar.cli.console import Console
from degreespar.cost.phase import Estimate
from degreespar.cost.run import RunEstimate, WindowEstimate, estimate_run
from degreespar.degree import DegreePolicy, PolicyError
from degreespar.degree.price_table import Line, PriceTable, default_prices, read_prices
from degreespar.degree.strict_json import read_json_file
from degreespar.party.demand import Demand

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands

MEASURED = "measured"
MAX_POLICY_BYTES = 1 << 28
"""A learned policy of a large model has tens of millions of runs."""
HEADER = (
    f"{'':<22}{'total s':>9}{'prepare s':>11}{'answer s':>10}{'MB down':>9}{'MB up':>8}"
    f"{'online MB':>11}{'flips':>7}{'online':>8}"
)


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "estimate",
        "predict seconds, bytes and rounds of one answer, layer by layer and by kind of work",
        "degreespar estimate demo/model --network wan2\n"
        "  degreespar estimate policy.json --geometry vit-s --network lan",
    )
    parser.add_argument(
        "what", type=Path, nargs="?", metavar="ARTIFACT|POLICY", help="a folder, or a policy's JSON"
    )
    parser.add_argument(
        "--geometry", choices=names(), help="of a policy; alone: of a made, uncompressed model"
    )
    parser.add_argument("--layers", type=positive_count, default=12, metavar="N", help="of a made model")
    parser.add_argument(
        "--tokens",
        type=positive_count,
        metavar="N",
        help="of a made model (default: 197), or the length class of a text artifact (default: its longest)",
    )
    parser.add_argument("--squarings", type=int, default=6, metavar="N", help="of a made model; default: 6")
    parser.add_argument("--gelu-order", type=int, default=4, metavar="D", help="of a made model; default: 4")
    parser.add_argument(
        "--network",
        choices=[*NETWORKS, MEASURED],
        default="none",
        help="`none`: both parties on one machine; `measured`: the table's own line",
    )
    parser.add_argument("--prices", type=Path, metavar="FILE", help="made by `degreespar price`")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Layers as a run prepares them; kinds of work as a run by kind would."""
    table = read_prices(options.prices) if options.prices else default_prices()
    public, line = _public(options), _line(options.network, table)
    console.say(f"tracing {public.name}: {public.geometry.layers} layers, {public.geometry.tokens} tokens")
    whole = estimate_run(Demand.of(public), table, line)
    apart = estimate_run(Demand.of(public, by_kind=True), table, line)
    facts = {
        "model": public.name,
        "network": options.network,
        "prices": {"server": table.server, "client": table.client, "when": table.when},
        **whole.to_json(),
        "by_kind": apart.to_json(),
    }
    console.result(facts, _text(whole, apart))


def _line(network: str, table: PriceTable) -> Line | None:
    return table.line if network == MEASURED else network_named(network).line


def _public(options: argparse.Namespace) -> PublicPart:
    if options.what is not None and options.what.is_dir():
        return _at_length(read_client(options.what)[0], options.tokens)
    if options.geometry is None:
        raise PolicyError("give an artifact's folder, or --geometry with or without a policy's JSON file")
    geometry = vit_geometry(options.geometry, options.layers, options.tokens)
    if options.what is None:
        policy = made_policy(geometry, options.squarings, options.gelu_order)
        return made_public(options.geometry, geometry, policy)
    policy = _read_policy(options.what)
    widths = tuple(layer.ffn_width for layer in policy.layers)
    shape = vit_geometry(options.geometry, len(widths), policy.layers[0].tokens, widths)
    return made_public(options.what.stem, shape, policy)


def _at_length(public: PublicPart, tokens: int | None) -> PublicPart:
    tokens = tokens or public.geometry.tokens
    if tokens not in public.length_classes:
        lengths = ", ".join(map(str, public.length_classes))
        raise PolicyError(f"the artifact takes inputs of {lengths} tokens, not {tokens}")
    return public.at_length(tokens)


def _read_policy(path: Path) -> DegreePolicy:
    return DegreePolicy.from_json(read_json_file(path, MAX_POLICY_BYTES, "a policy", PolicyError))


def _text(whole: RunEstimate, apart: RunEstimate) -> str:
    lines = [HEADER, *(_line_of(part) for part in whole.layers.values())]
    lines.append(_line_of(WindowEstimate("all", whole.prepare, whole.answer)))
    lines.append(
        f"{whole.overlapped_seconds:.2f} s, if each window is prepared while the one before it answers"
    )
    lines += ["", "by kind of work, each prepared apart:"]
    kinds = (part for part in apart.kinds.values() if part.total != Estimate())
    return "\n".join([*lines, *map(_line_of, kinds)])


def _line_of(part: WindowEstimate) -> str:
    both, online = part.total, part.answer
    megabytes = (both.to_client_bytes / 1e6, both.to_server_bytes / 1e6)
    online_mb = (online.to_client_bytes + online.to_server_bytes) / 1e6
    return (
        f"{part.name:<22}{both.seconds:>9.2f}{part.prepare.seconds:>11.2f}{online.seconds:>10.3f}"
        f"{megabytes[0]:>9.2f}{megabytes[1]:>8.2f}{online_mb:>11.2f}{both.flips:>7}{online.flips:>8}"
    )

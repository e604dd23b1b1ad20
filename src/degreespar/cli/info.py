"""`degreespar info`: what an artifact is, and what one private answer of it costs."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.artifact import BertGeometry, PublicPart, read_client, read_public, read_server
from degreespar.artifact.files import CLIENT_FILE, PUBLIC_FILE, SERVER_FILE, TABLE_FILE
from degreespar.cli.arguments import new_command
from degreespar.cli.console import Console
from degreespar.degree import IntGrid, LayerPolicy
from degreespar.party.demand import Demand

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands


def add(commands: "Commands") -> None:
    """Declares the command."""
    parser = new_command(
        commands,
        "info",
        "check an artifact and say what it is and what an answer costs",
        "degreespar info demo/model",
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, console: Console) -> None:
    """Checks every file that is there and describes the model."""
    public, digest = read_public(options.folder)
    if (options.folder / CLIENT_FILE).exists():
        read_client(options.folder)
    if (options.folder / SERVER_FILE).exists():
        read_server(options.folder)
    sizes, demand = _sizes(options.folder), Demand.of(public)
    facts = {
        "name": public.name,
        "artifact": digest,
        "geometry": public.geometry.to_json(),
        "opens": public.reveal,
        "degrees": [_degrees(layer) for layer in public.policy.layers],
        "weights": _weights(public),
        "files_bytes": sizes,
        "answer": _answer(demand),
    }
    console.result(facts, _text(public, digest, sizes, demand))


def _degrees(layer: LayerPolicy) -> dict[str, object]:
    return {
        "tokens": layer.tokens,
        "kept_tokens": layer.kept_tokens,
        "selection": None if layer.selection is None else layer.selection.to_json(),
        "squarings": _shares(layer.squarings),
        "gelu_orders": _shares(layer.gelu_orders),
    }


def _shares(grid: IntGrid) -> dict[str, float]:
    """Which part of the entries has which degree."""
    entries = grid.rows * grid.cols
    names = {-1: "off"}
    return {names.get(state, str(state)): len(index) / entries for state, index in grid.groups().items()}


def _weights(public: PublicPart) -> dict[str, object]:
    matrices = [entry for entry in public.weights if entry.dtype == "int16"]
    frac_bits = [entry.frac_bits for entry in matrices]
    return {
        "parameters": sum(entry.shape[0] * entry.shape[1] for entry in matrices),
        "bits": 16,
        "least_frac_bits": min(frac_bits),
        "most_frac_bits": max(frac_bits),
    }


def _sizes(folder: Path) -> dict[str, int]:
    paths = [folder / name for name in (PUBLIC_FILE, CLIENT_FILE, TABLE_FILE, SERVER_FILE)]
    return {path.name: path.stat().st_size for path in paths if path.exists()}


def _answer(demand: Demand) -> dict[str, object]:
    """As declared before anything runs; preparation comes on top."""
    return {
        "to_client_bytes": demand.bytes_to_client,
        "to_server_bytes": demand.bytes_to_server,
        "most_flips": demand.flips,
        "windows": len(demand.windows),
        "reveals": list(demand.reveals),
    }


def _text(public: PublicPart, digest: str, sizes: dict[str, int], demand: Demand) -> str:
    g = public.geometry
    files = ", ".join(f"{name} {size:,} B" for name, size in sizes.items())
    lines = [
        f"{public.name}: {_kind(public)}, {g.layers} layers of width {g.width}, {g.heads} heads",
        f"artifact  {digest}",
        _inputs_line(public),
        f"opens     the {public.reveal}",
        f"classes   {', '.join(public.labels[:10])}{', ...' if g.classes > 10 else ''}",
    ]
    for number, layer in enumerate(public.policy.layers, 1):
        squarings, orders = _percent(layer.squarings), _percent(layer.gelu_orders)
        lines.append(f"layer {number:<3} {_tokens(layer)}; squarings {squarings}; GeLU orders {orders}")
    lines += [
        f"files     {files}",
        f"answer    {demand.bytes_to_client:,} B down, {demand.bytes_to_server:,} B up,"
        f" at most {demand.flips} flips (declared; preparation comes on top)",
    ]
    return "\n".join(lines)


def _tokens(layer: LayerPolicy) -> str:
    if layer.selection is None:
        return f"{layer.tokens} tokens"
    ranges = " + ".join(str(size) for size in layer.selection.ranges)
    return f"{layer.tokens} tokens, kept 1 + {ranges}"


def _kind(public: PublicPart) -> str:
    return "BERT" if isinstance(public.geometry, BertGeometry) else "Vision Transformer"


def _inputs_line(public: PublicPart) -> str:
    g = public.geometry
    if isinstance(g, BertGeometry):
        lengths = " or ".join(map(str, g.length_classes))
        return f"texts     {lengths} tokens, {g.vocabulary} words ({g.embedding} table)"
    return f"pictures  {g.image_px}x{g.image_px}x{g.channels}, {g.tokens} tokens"


def _percent(grid: IntGrid) -> str:
    return ", ".join(f"{state} ({share:.0%})" for state, share in _shares(grid).items())

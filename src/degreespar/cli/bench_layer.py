"""`degreespar bench layer` and `degreespar bench model`: two processes, over a network of a given kind."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from degreespar.bench.geometries import names, vit_geometry
from degreespar.bench.layer import SEED, Measured, Setting, measure_layer, measure_model
from degreespar.bench.namespaces import Place, joined
from degreespar.bench.networks import NETWORKS, Network, network_named
from degreespar.bench.peers.spu import VERSION, PeerLayer, installed, run_layer
from degreespar.bench.predicted import comparison, comparison_text, predicted_layer, predicted_model
from degreespar.bench.rows import append, check_folder, measured
from degreespar.cli.arguments import add_mode, add_results, new_command, positive_count
from degreespar.cli.console import Console
from degreespar.degree.price_table import read_prices
from degreespar.party.pace import Mode
from degreespar.party.report import Cost

if TYPE_CHECKING:
    from degreespar.cli.arguments import Commands

PEER_FOLDER = Path(".peers/spu")
HEADER = f"{'kind of work':<14}{'phase':<9}{'seconds':>9}{'MB down':>9}{'MB up':>8}{'flips':>7}"


def add_layer(commands: "Commands") -> None:
    """Declares `bench layer`."""
    parser = new_command(
        commands,
        "layer",
        "measure one encoder layer, kind of work by kind of work, and on request the same on SPU",
        "degreespar bench layer --geometry vit-s --network wan2 --peer spu",
    )
    _add_setting(parser)
    parser.add_argument("--peer", choices=("spu",), help=f"SPU {VERSION}, over the same network")
    parser.set_defaults(run=run_layer_bench)


def add_model(commands: "Commands") -> None:
    """Declares `bench model`."""
    parser = new_command(
        commands,
        "model",
        "measure a whole private answer of a made model",
        "degreespar bench model --geometry vit-s --network lan",
    )
    _add_setting(parser)
    parser.add_argument("--layers", type=positive_count, default=12, metavar="N", help="default: 12")
    add_mode(parser)
    parser.set_defaults(run=run_model_bench)


def _add_setting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--geometry", choices=names(), required=True)
    parser.add_argument("--tokens", type=positive_count, metavar="N", help="a square plus one; default: 197")
    parser.add_argument("--squarings", type=int, default=6, metavar="N", help="of the softmax; default: 6")
    parser.add_argument("--gelu-order", type=int, default=4, metavar="D", help="default: 4")
    parser.add_argument(
        "--network",
        choices=list(NETWORKS),
        default="none",
        help="emulated at the IP layer (root); default: none",
    )
    parser.add_argument(
        "--prices", type=Path, metavar="FILE", help="made by `degreespar price`: predict it, too, and compare"
    )
    parser.add_argument("--no-row", action="store_true", help="print only")
    add_results(parser)


def run_layer_bench(options: argparse.Namespace, console: Console) -> None:
    """Ours, then the peer's on the same line."""
    network = _network(options)
    with joined(network) as places:
        setting = _setting(options, layers=2, places=places)
        done = measure_layer(setting, console.say)
        metrics, text = done.metrics(), _text(done)
        if options.prices:
            predicted = predicted_layer(setting, read_prices(options.prices), network.line)
            metrics |= comparison(predicted, done)
            text += "\n" + comparison_text(predicted, done)
        if options.peer:
            python = installed(PEER_FOLDER, console.say)
            console.say(f"the same layer on SPU {VERSION}, over the same network (some minutes)")
            peer = run_layer(python, setting.geometry, setting.squarings, places)
            metrics |= {"spu": asdict(peer), **_ratios(done, peer)}
            text += "\n" + _peer_text(peer, metrics)
    _report(options, console, "engine.layer", metrics, text)


def run_model_bench(options: argparse.Namespace, console: Console) -> None:
    """A whole answer."""
    network = _network(options)
    with joined(network) as places:
        setting = _setting(options, options.layers, places)
        done = measure_model(setting, console.say, options.mode, options.windows)
    metrics, text = done.metrics(), _text(done)
    if options.prices:
        table = read_prices(options.prices)
        metrics |= predicted_model(setting, table, network.line, options.mode, done)
        text += f"\npredicted total: {metrics['predicted_total_seconds']:.3f} s"
    _report(options, console, "engine.model", metrics, text)


def _network(options: argparse.Namespace) -> Network:
    """The line to measure over, once it is sure that the result can be kept."""
    if not options.no_row:
        check_folder(options.results)
    return network_named(options.network)


def _setting(options: argparse.Namespace, layers: int, places: tuple[Place, Place]) -> Setting:
    geometry = vit_geometry(options.geometry, layers, options.tokens)
    return Setting(options.geometry, geometry, options.squarings, options.gelu_order, places)


def _ratios(ours: Measured, peer: PeerLayer) -> dict[str, float]:
    """How many times sooner, and which part of the bytes; `online` is our answer phase alone."""
    theirs = peer.to_client_bytes + peer.to_server_bytes
    online = ours.phase("answer")
    return {
        "times_faster_than_spu": peer.seconds / ours.total.seconds,
        "bytes_of_spu": _bytes(ours.total) / theirs,
        "online_seconds_of_spu": online.seconds / peer.seconds,
        "online_bytes_of_spu": _bytes(online) / theirs,
    }


def _bytes(cost: Cost) -> int:
    return cost.to_client_bytes + cost.to_server_bytes


def _report(
    options: argparse.Namespace, console: Console, kind: str, metrics: Mapping[str, object], text: str
) -> None:
    config = {
        "geometry": options.geometry,
        "tokens": options.tokens or 197,
        "squarings": options.squarings,
        "gelu_order": options.gelu_order,
        "both_parties_on_one_machine": True,
        **(_model_config(options) if kind == "engine.model" else {}),
    }
    if not options.no_row:
        name = f"{options.geometry} {config['tokens']} tokens n={options.squarings} d={options.gelu_order}"
        name += f" {options.network}" + (f" {config['mode']}" if "mode" in config else "")
        row = measured(kind, name, config, metrics, network=options.network, seed=SEED)
        console.say(f"row added to {append(row, options.results)}")
    console.result({"config": config, "network": options.network, "metrics": metrics}, text)


def _model_config(options: argparse.Namespace) -> dict[str, object]:
    held = {"windows_held": options.windows} if options.mode is Mode.OVERLAP else {}
    return {"layers": options.layers, "mode": options.mode.value, **held}


def _text(done: Measured) -> str:
    lines = [HEADER]
    lines += [_line(kind, phase, cost) for kind, costs in done.kinds.items() for phase, cost in costs.items()]
    lines += [_line("all", phase, done.phase(phase)) for phase in ("prepare", "answer")]
    lines.append(_line("all", "total", done.total))
    peaks = (done.client_peak_bytes / 2**20, done.server_peak_bytes / 2**20)
    return "\n".join([*lines, f"peak memory: client {peaks[0]:.0f} MiB, server {peaks[1]:.0f} MiB"])


def _line(kind: str, phase: str, cost: Cost) -> str:
    down, up = cost.to_client_bytes / 1e6, cost.to_server_bytes / 1e6
    return f"{kind:<14}{phase:<9}{cost.seconds:>9.3f}{down:>9.2f}{up:>8.2f}{cost.flips:>7}"


def _peer_text(peer: PeerLayer, metrics: Mapping[str, object]) -> str:
    cost = Cost(peer.seconds, peer.to_client_bytes, peer.to_server_bytes)
    return (
        f"{_line(f'SPU {VERSION}', 'total', cost)}\n"
        f"total: {metrics['times_faster_than_spu']:.1f} times faster with {metrics['bytes_of_spu']:.0%}"
        f" of its bytes; online: {metrics['online_seconds_of_spu']:.1%} of its time,"
        f" {metrics['online_bytes_of_spu']:.0%} of its bytes"
    )

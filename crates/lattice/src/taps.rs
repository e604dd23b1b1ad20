//! The client's ciphertexts of one row tile, laid out so that every product is a plain sum over rows.
//!
//! The monomial X^(col*K - offset) of the server's polynomial takes the client's coefficient x - col*K + offset to x. So
//! the random half of a product is a sum of windows into the client's random half, continued negacyclically on both
//! sides. Of the body only the useful coefficients, K apart, are needed: the same windows into every K-th coefficient.

use crate::basis::Basis;
use crate::kernel::{DIGIT_OFFSET, LANES};
use crate::modulus::Modulus;
use crate::tiling::{Tap, Tiling};

/// One request ciphertext, by coefficients.
pub(crate) struct Ciphertext {
    pub(crate) body: Vec<u64>,
    pub(crate) random: Vec<u64>,
}

/// Lines of words, each continued to the left, that the taps of a product read windows of.
pub(crate) struct Windows {
    /// Per prime: the lines of all inner tiles, one after the other.
    lines: Vec<Vec<u64>>,
    /// Words between the starts of two lines.
    stride: usize,
    lines_per_tile: usize,
    /// Where a window starts within a line: `origin` - `col_step` * col, and + offset where the tile has but one line.
    origin: usize,
    col_step: usize,
    /// Words of a window, a multiple of [`LANES`].
    pub(crate) width: usize,
}

impl Windows {
    /// For the whole random half: one line per tile.
    pub(crate) fn of_random(basis: &Basis, tiling: &Tiling, tiles: &[Ciphertext]) -> Self {
        let (width, spacing) = (basis.dimension(), tiling.spacing());
        let origin = (tiling.tile_cols() - 1) * spacing;
        let stride = staggered(origin + width + spacing);
        let coefficient_at = |_line, word| word as isize - origin as isize;
        let lines = lines(basis, tiles, |tile| &tile.random, (1, stride), coefficient_at);
        Self { lines, stride, lines_per_tile: 1, origin, col_step: spacing, width }
    }

    /// For the body at the slots: one line per inner term of a tile.
    pub(crate) fn of_body(
        basis: &Basis,
        tiling: &Tiling,
        slots: usize,
        tiles: &[Ciphertext],
    ) -> Self {
        let (width, spacing) = (slots.next_multiple_of(LANES), tiling.spacing());
        let origin = tiling.tile_cols() - 1;
        let stride = staggered(origin + width);
        let coefficient_at = |line: usize, word: usize| {
            (word as isize - origin as isize) * spacing as isize + line as isize
        };
        let lines = lines(basis, tiles, |tile| &tile.body, (spacing, stride), coefficient_at);
        Self { lines, stride, lines_per_tile: spacing, origin, col_step: 1, width }
    }

    /// The window of every tap, in the order of [`Tiling::taps`].
    pub(crate) fn rows(&self, limb: usize, tiling: &Tiling) -> Vec<&[u64]> {
        let start = |tile: usize, tap: Tap| {
            let (line, shift) =
                if self.lines_per_tile == 1 { (0, tap.offset) } else { (tap.offset, 0) };
            let line = tile * self.lines_per_tile + line;
            line * self.stride + self.origin - self.col_step * tap.col + shift
        };
        let taps = (0..tiling.inner_tiles())
            .flat_map(|tile| tiling.taps(tile).map(move |tap| start(tile, tap)));
        taps.map(|start| &self.lines[limb][start..start + self.width]).collect()
    }

    /// -2^15 times the sum of all windows: what takes the kernel's digit offset out again.
    pub(crate) fn correction(&self, basis: &Basis, limb: usize, tiling: &Tiling) -> Vec<u64> {
        let modulus = basis.modulus(limb);
        let mut sums = vec![0u64; self.width];
        for row in self.rows(limb, tiling) {
            // 2^27 rows of 36 bits fit; a request has at most 2^24 inner terms
            sums.iter_mut().zip(row).for_each(|(sum, &word)| *sum += word);
        }
        let factor = modulus.factor(modulus.prime() - DIGIT_OFFSET);
        sums.iter().map(|&sum| modulus.times(sum, factor)).collect()
    }
}

/// A long line's length rounded up so that equal places of successive lines fall on different sets of the cache.
fn staggered(length: usize) -> usize {
    const CACHE_WAY_WORDS: usize = 512;
    const STEP_WORDS: usize = 2 * LANES + 8;
    if length < CACHE_WAY_WORDS {
        return length;
    }
    length.next_multiple_of(CACHE_WAY_WORDS) + STEP_WORDS
}

/// The words of `count` lines of `stride` words per tile, for every prime.
fn lines(
    basis: &Basis,
    tiles: &[Ciphertext],
    half: impl Fn(&Ciphertext) -> &[u64],
    (count, stride): (usize, usize),
    coefficient_at: impl Fn(usize, usize) -> isize,
) -> Vec<Vec<u64>> {
    let n = basis.dimension();
    let of_limb = |limb: usize| {
        let modulus = basis.modulus(limb);
        let mut words = Vec::with_capacity(tiles.len() * count * stride);
        for part in tiles.iter().map(|tile| &half(tile)[limb * n..(limb + 1) * n]) {
            for line in 0..count {
                let word = |word| coefficient(modulus, part, coefficient_at(line, word));
                words.extend((0..stride).map(word));
            }
        }
        words
    };
    (0..basis.count()).map(of_limb).collect()
}

/// The coefficient of X^x for x from -n on, with X^n = -1; zeros pad the windows beyond 2n.
fn coefficient(modulus: Modulus, part: &[u64], x: isize) -> u64 {
    let n = part.len() as isize;
    match x {
        _ if x < 0 => modulus.negate(part[(x + n) as usize]),
        _ if x < n => part[x as usize],
        _ if x < 2 * n => modulus.negate(part[(x - n) as usize]),
        _ => 0,
    }
}

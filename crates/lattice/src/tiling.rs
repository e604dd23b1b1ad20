//! How matrices are cut into polynomials.
//!
//! A tile has R rows, K inner terms and C columns, powers of two with R*K*C <= n. The client's tile puts its entry (i, k)
//! at coefficient i*C*K + k, the server's its entry (k, j) at j*K - k. The product's coefficient (i*C + j)*K is then the
//! inner product of row i and column j and nothing else: any other pair of terms misses it, for |k - k'| < K.
//! (Tiles as in Cheetah, section 3.2, the inner sides turned round.)

use crate::parameters::{PACK_LEVELS, Parameters};
use std::ops::Range;

/// The tiles of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tiling {
    rows: usize,
    inner: usize,
    cols: usize,
    tile_rows: usize,
    /// K, also the distance between two useful coefficients of a product.
    tile_inner: usize,
    tile_cols: usize,
    /// log2 of the ciphertexts that are packed into one.
    pub(crate) pack_levels: u32,
}

impl Tiling {
    pub(crate) fn new(parameters: &Parameters, rows: usize, inner: usize, cols: usize) -> Self {
        let dimension = parameters.set.dimension;
        let tile_rows = rows.next_power_of_two().min(dimension);
        let room = dimension / tile_rows;
        let tile_inner = room.min(inner.next_power_of_two()).min(1 << PACK_LEVELS);
        let tile_cols = (room / tile_inner).min(cols.next_power_of_two());
        let groups = cols.div_ceil(tile_cols);
        let pack_levels = if parameters.packs {
            groups.next_power_of_two().min(tile_inner).trailing_zeros()
        } else {
            0
        };
        Self { rows, inner, cols, tile_rows, tile_inner, tile_cols, pack_levels }
    }

    /// Tiles above one another in the client's matrix.
    pub(crate) fn row_tiles(&self) -> usize {
        self.rows.div_ceil(self.tile_rows)
    }

    /// Tiles beside one another in the client's matrix.
    pub(crate) fn inner_tiles(&self) -> usize {
        self.inner.div_ceil(self.tile_inner)
    }

    /// Product ciphertexts per row tile.
    pub(crate) fn groups(&self) -> usize {
        self.cols.div_ceil(self.tile_cols)
    }

    /// Ciphertexts in the reply per row tile.
    pub(crate) fn packs(&self) -> usize {
        self.groups().div_ceil(1 << self.pack_levels)
    }

    /// The groups that one pack holds.
    pub(crate) fn pack_groups(&self, pack: usize) -> Range<usize> {
        let start = pack << self.pack_levels;
        start..self.groups().min(start + (1 << self.pack_levels))
    }

    /// Rows of the matrix in a row tile.
    pub(crate) fn rows_in(&self, row_tile: usize) -> Range<usize> {
        let start = row_tile * self.tile_rows;
        start..self.rows.min(start + self.tile_rows)
    }

    /// Inner terms of the matrix in an inner tile.
    pub(crate) fn inner_in(&self, inner_tile: usize) -> Range<usize> {
        let start = inner_tile * self.tile_inner;
        start..self.inner.min(start + self.tile_inner)
    }

    /// Columns of the matrix in a group.
    pub(crate) fn cols_in(&self, group: usize) -> Range<usize> {
        let start = group * self.tile_cols;
        start..self.cols.min(start + self.tile_cols)
    }

    /// Error terms in every coefficient of a product. (The errors between the client's entries count, too.)
    pub(crate) fn terms(&self) -> usize {
        self.inner * self.tile_cols
    }

    pub(crate) fn tile_cols(&self) -> usize {
        self.tile_cols
    }

    /// K.
    pub(crate) fn spacing(&self) -> usize {
        self.tile_inner
    }

    /// Slots (useful coefficients, K apart) of a row tile's product ciphertexts that may be read.
    pub(crate) fn slots(&self, row_tile: usize) -> usize {
        self.rows_in(row_tile).len() * self.tile_cols
    }

    /// The slot of the tile's row and column.
    pub(crate) fn slot(&self, row: usize, col: usize) -> usize {
        row * self.tile_cols + col
    }

    /// The client's coefficient of the tile's row and inner term.
    pub(crate) fn client_position(&self, row: usize, term: usize) -> usize {
        self.slot(row, 0) * self.tile_inner + term
    }

    /// The terms of a product ciphertext that meet an inner tile's ciphertext.
    pub(crate) fn taps(&self, inner_tile: usize) -> impl Iterator<Item = Tap> {
        let terms = self.inner_in(inner_tile);
        (0..self.tile_cols).flat_map(move |col| {
            terms.clone().enumerate().map(move |(offset, term)| Tap { term, offset, col })
        })
    }

    /// The coefficient of a pack's ciphertext where a slot of its `member`-th product ends up (see `pack::Packer`).
    pub(crate) fn packed_position(&self, member: usize, slot: usize) -> usize {
        let reversed = member.reverse_bits().checked_shr(usize::BITS - self.pack_levels);
        let step = self.tile_inner >> self.pack_levels;
        slot * self.tile_inner + reversed.unwrap_or(0) * step
    }

    /// The entries of the product (by row-major index) that a group holds in a row tile, each with its slot.
    pub(crate) fn group_entries(
        &self,
        row_tile: usize,
        group: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (tiling, cols) = (*self, self.cols_in(group));
        self.rows_in(row_tile).enumerate().flat_map(move |(i, row)| {
            let entry = move |(j, col)| (row * tiling.cols + col, tiling.slot(i, j));
            cols.clone().enumerate().map(entry)
        })
    }

    /// The entries of the product that a reply ciphertext holds, each with its coefficient.
    pub(crate) fn entries(
        &self,
        row_tile: usize,
        pack: usize,
    ) -> impl Iterator<Item = (usize, usize)> {
        let tiling = *self;
        self.pack_groups(pack).enumerate().flat_map(move |(member, group)| {
            let tiling = tiling;
            let position = move |(entry, slot)| (entry, tiling.packed_position(member, slot));
            tiling.group_entries(row_tile, group).map(position)
        })
    }
}

/// One monomial of the server's polynomials: X^(col*K - offset).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tap {
    /// The inner term, counted over the whole matrix.
    pub(crate) term: usize,
    /// The inner term within its tile.
    pub(crate) offset: usize,
    /// The column within its group.
    pub(crate) col: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiling(rows: usize, inner: usize, cols: usize) -> Option<Tiling> {
        Parameters::candidates(37).next().map(|p| Tiling::new(&p, rows, inner, cols))
    }

    #[test]
    fn the_reference_product_is_dense() {
        let t = tiling(197, 384, 1152).expect("fits");
        assert_eq!((t.tile_rows, t.tile_inner, t.tile_cols), (256, 16, 1));
        assert_eq!((t.inner_tiles(), t.groups(), t.packs()), (24, 1152, 72));
    }

    #[test]
    fn every_entry_of_the_product_has_its_own_packed_position() {
        for (rows, inner, cols) in [(1, 1, 1), (5, 3, 7), (1, 700, 10), (50, 32, 50), (5000, 2, 3)]
        {
            let t = tiling(rows, inner, cols).expect("fits");
            let mut seen = std::collections::HashSet::new();
            for (tile, pack) in (0..t.row_tiles()).flat_map(|r| (0..t.packs()).map(move |p| (r, p)))
            {
                for (member, group) in t.pack_groups(pack).enumerate() {
                    for (i, j) in
                        t.rows_in(tile).flat_map(|i| t.cols_in(group).map(move |j| (i, j)))
                    {
                        let slot = t.slot(i - t.rows_in(tile).start, j - t.cols_in(group).start);
                        assert!(slot < t.slots(tile));
                        let position = t.packed_position(member, slot);
                        assert!(position < 4096);
                        assert!(seen.insert((tile, pack, position)));
                    }
                }
            }
            assert_eq!(seen.len(), rows * cols);
        }
    }
}

//! The server's matrix, cut into signed 16-bit digits in the order of the taps.

use crate::LatticeError;
use crate::kernel::{COLUMNS, DIGIT_OFFSET};
use crate::shape::{ProductShape, WeightKind};

/// Bits of a digit.
pub(crate) const DIGIT_BITS: u32 = 16;

/// The server's matrix, inner x cols, row by row.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'a> {
    /// For [`WeightKind::Narrow`].
    Narrow(&'a [i16]),
    /// For [`WeightKind::Wide`]; bits above the ring are ignored.
    Wide(&'a [u64]),
}

impl Weights<'_> {
    pub(crate) fn check(&self, shape: &ProductShape) -> Result<(), LatticeError> {
        let (kind, length) = match self {
            Self::Narrow(words) => (WeightKind::Narrow, words.len()),
            Self::Wide(words) => (WeightKind::Wide, words.len()),
        };
        let fits = kind == shape.weight() && length == shape.inner() * shape.cols();
        if fits { Ok(()) } else { Err(LatticeError::Weights) }
    }

    /// Digits per weight.
    pub(crate) fn digit_count(shape: &ProductShape) -> u32 {
        shape.weight().bits(shape.ring()).div_ceil(DIGIT_BITS)
    }

    /// The `digit`-th signed digit (of weight 2^(16 digit)) of an entry; digits sum up to the entry modulo the ring.
    fn digit(&self, shape: &ProductShape, digit: u32, index: usize) -> i16 {
        match self {
            Self::Narrow(words) => words[index],
            Self::Wide(words) => {
                let mut rest = shape.ring().decode(words[index]);
                for _ in 0..digit {
                    rest = rest.wrapping_sub(i64::from(rest as i16)) >> DIGIT_BITS;
                }
                rest as i16
            }
        }
    }

    /// One digit of the weights that meet the taps, for up to [`COLUMNS`] groups from `group` on.
    pub(crate) fn block(
        &self,
        shape: &ProductShape,
        digit: u32,
        group: usize,
    ) -> Vec<[u64; COLUMNS]> {
        let tiling = &shape.tiling;
        let entry = |term: usize, col: usize, group: usize| {
            let known = group < tiling.groups() && col < tiling.cols_in(group).len();
            let index = || term * shape.cols() + tiling.cols_in(group).start + col;
            let value = if known { self.digit(shape, digit, index()) } else { 0 };
            (DIGIT_OFFSET as i64 + i64::from(value)) as u64
        };
        let taps = (0..tiling.inner_tiles()).flat_map(|tile| tiling.taps(tile));
        taps.map(|tap| std::array::from_fn(|c| entry(tap.term, tap.col, group + c))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use degreespar_ring::Ring;

    #[test]
    fn digits_sum_up_to_the_entry_at_every_edge() -> Result<(), Box<dyn std::error::Error>> {
        for bits in [8, 15, 16, 17, 32, 40, 48, 63, 64] {
            let ring = Ring::new(bits)?;
            let shape = ProductShape::new(1, 1, 1, ring, WeightKind::Wide)?;
            let top = ring.encode(1 << (bits - 1));
            for word in [0, 1, ring.mask(), top, top - 1, ring.reduce(0x7fff_7fff_7fff_7fff)] {
                let entry = [word];
                let weights = Weights::Wide(&entry);
                let digits = (0..Weights::digit_count(&shape)).map(|digit| {
                    let value = i64::from(weights.digit(&shape, digit, 0));
                    ring.encode(value << (DIGIT_BITS * digit))
                });
                assert_eq!(digits.fold(0, |sum, term| ring.add(sum, term)), word, "{bits} bits");
            }
        }
        Ok(())
    }

    #[test]
    fn another_kind_or_length_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let shape = ProductShape::new(1, 2, 3, Ring::new(20)?, WeightKind::Narrow)?;
        assert!(Weights::Narrow(&[0; 6]).check(&shape).is_ok());
        assert_eq!(Weights::Narrow(&[0; 5]).check(&shape), Err(LatticeError::Weights));
        assert_eq!(Weights::Wide(&[0; 6]).check(&shape), Err(LatticeError::Weights));
        Ok(())
    }
}

//! The ring of integers modulo 2^b.

use crate::RingError;

/// Integers modulo 2^bits. Elements are `u64` words below 2^bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ring {
    bits: u32,
}

impl Ring {
    /// A ring of 1 to 64 bits.
    pub fn new(bits: u32) -> Result<Self, RingError> {
        if (1..=64).contains(&bits) { Ok(Self { bits }) } else { Err(RingError::Width(bits)) }
    }

    /// The width b.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// 2^b - 1.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The element congruent to `word`.
    pub const fn reduce(self, word: u64) -> u64 {
        word & self.mask()
    }

    /// The element of a signed integer.
    pub const fn encode(self, value: i64) -> u64 {
        self.reduce(value as u64)
    }

    /// The representative in [-2^(b-1), 2^(b-1)).
    pub const fn decode(self, element: u64) -> i64 {
        let unused = 64 - self.bits;
        ((element << unused) as i64) >> unused
    }

    /// a + b.
    pub const fn add(self, a: u64, b: u64) -> u64 {
        self.reduce(a.wrapping_add(b))
    }

    /// a - b.
    pub const fn sub(self, a: u64, b: u64) -> u64 {
        self.reduce(a.wrapping_sub(b))
    }

    /// -a.
    pub const fn neg(self, a: u64) -> u64 {
        self.reduce(a.wrapping_neg())
    }

    /// a * b.
    pub const fn mul(self, a: u64, b: u64) -> u64 {
        self.reduce(a.wrapping_mul(b))
    }

    /// Bytes of `count` elements packed without gaps.
    pub const fn packed_bytes(self, count: usize) -> usize {
        (count * self.bits as usize).div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_outside_1_to_64_are_refused() {
        assert_eq!(Ring::new(0), Err(RingError::Width(0)));
        assert_eq!(Ring::new(65), Err(RingError::Width(65)));
    }

    #[test]
    fn signed_edges_round_trip_in_every_width() -> Result<(), RingError> {
        for bits in 1..=64 {
            let ring = Ring::new(bits)?;
            let low = -1i64 << (bits - 1);
            for value in [low, -1, 0, !low] {
                assert_eq!(ring.decode(ring.encode(value)), value.max(low), "{bits} bits");
            }
        }
        Ok(())
    }
}

//! Ring elements as one little-endian bit stream, without gaps.

use crate::{Ring, RingError};

/// `values` as a bit stream of `ring.packed_bytes(values.len())` bytes. Bits above the ring are dropped.
pub fn pack(ring: Ring, values: &[u64]) -> Vec<u8> {
    let bits = ring.bits();
    let mut out = Vec::with_capacity(ring.packed_bytes(values.len()) + 8);
    let (mut window, mut held) = (0u128, 0u32);
    for &value in values {
        window |= u128::from(ring.reduce(value)) << held;
        held += bits;
        if held >= 64 {
            out.extend_from_slice(&(window as u64).to_le_bytes());
            window >>= 64;
            held -= 64;
        }
    }
    out.extend_from_slice(&(window as u64).to_le_bytes());
    out.truncate(ring.packed_bytes(values.len()));
    out
}

/// The `count` elements of a bit stream; its length must be exact.
pub fn unpack(ring: Ring, bytes: &[u8], count: usize) -> Result<Vec<u64>, RingError> {
    let expected = ring.packed_bytes(count);
    if bytes.len() != expected {
        return Err(RingError::Length { expected, got: bytes.len() });
    }
    let mut words = bytes.chunks(8).map(little_endian_word);
    let mut values = Vec::with_capacity(count);
    let (mut window, mut held) = (0u128, 0u32);
    for _ in 0..count {
        if held < ring.bits() {
            window |= u128::from(words.next().unwrap_or(0)) << held;
            held += 64;
        }
        values.push(ring.reduce(window as u64));
        window >>= ring.bits();
        held -= ring.bits();
    }
    Ok(values)
}

fn little_endian_word(chunk: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    word[..chunk.len()].copy_from_slice(chunk);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_undoes_packing(bits in 1u32..=64, words in prop::collection::vec(any::<u64>(), 0..67)) {
            let ring = Ring::new(bits)?;
            let values: Vec<u64> = words.iter().map(|&w| ring.reduce(w)).collect();
            let packed = pack(ring, &words);
            prop_assert_eq!(packed.len(), ring.packed_bytes(words.len()));
            prop_assert_eq!(unpack(ring, &packed, words.len())?, values);
        }
    }

    #[test]
    fn a_wrong_length_is_refused() -> Result<(), RingError> {
        let ring = Ring::new(12)?;
        assert_eq!(unpack(ring, &[0; 2], 1), Ok(vec![0]));
        assert_eq!(unpack(ring, &[0; 3], 1), Err(RingError::Length { expected: 2, got: 3 }));
        Ok(())
    }
}

//! Vectors of bits (one per byte in memory, eight per byte on the wire).

use crate::RingError;

/// Bytes that `count` packed bits take.
pub const fn packed_bits_bytes(count: usize) -> usize {
    count.div_ceil(8)
}

/// Bits (0 or 1, one per byte) packed eight to a byte, lowest first.
pub fn pack_bits(bits: &[u8]) -> Vec<u8> {
    bits.chunks(8)
        .map(|eight| eight.iter().enumerate().fold(0u8, |byte, (i, &bit)| byte | (bit & 1) << i))
        .collect()
}

/// The first `count` bits of packed bytes; the length must be exact.
pub fn unpack_bits(bytes: &[u8], count: usize) -> Result<Vec<u8>, RingError> {
    let expected = packed_bits_bytes(count);
    if bytes.len() != expected {
        return Err(RingError::Length { expected, got: bytes.len() });
    }
    Ok((0..count).map(|i| bytes[i / 8] >> (i % 8) & 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_undoes_packing(bits in prop::collection::vec(0u8..=1, 0..40)) {
            prop_assert_eq!(unpack_bits(&pack_bits(&bits), bits.len())?, bits);
        }
    }

    #[test]
    fn a_wrong_length_is_refused() {
        assert_eq!(unpack_bits(&[0, 0], 8), Err(RingError::Length { expected: 1, got: 2 }));
    }
}

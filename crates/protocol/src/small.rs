//! Numbers of at most 16 bits as a bit stream: the layout of `degreespar_ring::pack`, but eight numbers at a time.

/// Bytes of `count` numbers of `bits` bits.
pub(crate) const fn small_bytes(bits: u32, count: usize) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// The lowest `bits` bits (at most 16) of every number.
pub(crate) fn pack_small(bits: u32, values: &[u16]) -> Vec<u8> {
    // with a constant width the shifts of the common cases, digits and their tables, are free
    match bits {
        4 => pack_with(4, values),
        15 => pack_with(15, values),
        _ => pack_with(bits, values),
    }
}

/// The `count` numbers of a bit stream; what is missing is zero.
pub(crate) fn unpack_small(bits: u32, bytes: &[u8], count: usize) -> Vec<u16> {
    match bits {
        4 => unpack_with(4, bytes, count),
        15 => unpack_with(15, bytes, count),
        _ => unpack_with(bits, bytes, count),
    }
}

#[inline(always)]
fn pack_with(bits: u32, values: &[u16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(small_bytes(bits, values.len()) + bits as usize);
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        out.extend_from_slice(&join(bits, eight).to_le_bytes()[..bits as usize]);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    out.extend_from_slice(&join(bits, &last).to_le_bytes()[..bits as usize]);
    out.truncate(small_bytes(bits, values.len()));
    out
}

/// Eight numbers as one.
#[inline(always)]
fn join(bits: u32, eight: &[u16; 8]) -> u128 {
    let mask = u16::MAX >> (16 - bits);
    let at = |i: usize| u128::from(eight[i] & mask) << (i as u32 * bits);
    (0..8).map(at).fold(0, |joined, value| joined | value)
}

#[inline(always)]
fn unpack_with(bits: u32, bytes: &[u8], count: usize) -> Vec<u16> {
    let mask = u128::from(u16::MAX >> (16 - bits));
    let mut out = Vec::with_capacity(count + 8);
    for group in bytes.chunks(bits as usize) {
        let mut joined = [0; 16];
        joined[..group.len()].copy_from_slice(group);
        let joined = u128::from_le_bytes(joined);
        out.extend((0..8).map(|i| (joined >> (i * bits) & mask) as u16));
    }
    out.resize(count, 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use degreespar_ring::Ring;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_stream_is_that_of_the_ring_crate(
            bits in 1u32..=16,
            values in prop::collection::vec(any::<u16>(), 0..50),
        ) {
            let ring = Ring::new(bits)?;
            let words: Vec<u64> = values.iter().map(|&value| ring.reduce(value.into())).collect();
            let packed = pack_small(bits, &values);
            prop_assert_eq!(&packed, &degreespar_ring::pack(ring, &words));
            let unpacked = unpack_small(bits, &packed, values.len());
            prop_assert_eq!(unpacked.into_iter().map(u64::from).collect::<Vec<_>>(), words);
        }
    }
}

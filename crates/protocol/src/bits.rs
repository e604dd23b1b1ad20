//! Bit planes: many bits, eight to a byte, so that a gate costs an eighth of an instruction.

/// Bits, lowest first; unused bits of the last byte are zero in messages and of no meaning elsewhere.
pub(crate) type Plane = Vec<u8>;

/// Bytes of a plane of `count` bits.
pub(crate) const fn plane_bytes(count: usize) -> usize {
    count.div_ceil(8)
}

/// The lowest bits of bytes.
pub(crate) fn pack_plane(bits: &[u8]) -> Plane {
    let mut plane = Plane::with_capacity(plane_bytes(bits.len()));
    let (eights, rest) = bits.as_chunks::<8>();
    plane.extend(eights.iter().map(|&eight| gather(eight)));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        plane.push(gather(last));
    }
    plane
}

/// The first `count` bits, one to a byte; missing ones are zero.
pub(crate) fn unpack_plane(plane: &[u8], count: usize) -> Vec<u8> {
    let mut bits = Vec::with_capacity(count + 8);
    bits.extend(plane.iter().take(plane_bytes(count)).flat_map(|&byte| scatter(byte)));
    bits.resize(count, 0);
    bits
}

/// a xor b.
pub(crate) fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// The lowest bits of eight bytes: the factor moves the bit of byte i to bit 56 + i, without carries.
fn gather(eight: [u8; 8]) -> u8 {
    let bits = u64::from_le_bytes(eight) & 0x0101_0101_0101_0101;
    (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Eight bits to bytes: byte i keeps bit i only, which the sum then moves to its top.
fn scatter(byte: u8) -> [u8; 8] {
    let one_each = (u64::from(byte) * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    (((one_each + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn planes_are_the_packed_bits_of_the_ring_crate(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let plane = pack_plane(&bytes);
            prop_assert_eq!(&plane, &degreespar_ring::pack_bits(&bytes));
            let bits: Vec<u8> = bytes.iter().map(|byte| byte & 1).collect();
            prop_assert_eq!(unpack_plane(&plane, bits.len()), bits);
        }
    }
}

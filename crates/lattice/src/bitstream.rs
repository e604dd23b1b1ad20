//! Words of up to 96 bits as one little-endian bit stream, without gaps.

/// Bytes of `count` words of `bits` bits.
pub(crate) const fn stream_bytes(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Appends words below 2^`bits`, then fills the last byte with zeros.
pub(crate) fn write(out: &mut Vec<u8>, bits: u32, words: impl IntoIterator<Item = u128>) {
    let (mut window, mut held) = (0u128, 0u32);
    for word in words {
        window |= word << held;
        held += bits;
        while held >= 32 {
            out.extend_from_slice(&(window as u32).to_le_bytes());
            window >>= 32;
            held -= 32;
        }
    }
    out.extend_from_slice(&(window as u32).to_le_bytes()[..held.div_ceil(8) as usize]);
}

/// The words of a stream that [`write`] made; a short stream reads as zeros at its end.
pub(crate) fn read(bytes: &[u8], count: usize, bits: u32) -> Vec<u128> {
    let mask = (1u128 << bits) - 1;
    let mut chunks = bytes.chunks(4).map(little_endian_word);
    let (mut window, mut held) = (0u128, 0u32);
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        while held < bits {
            window |= u128::from(chunks.next().unwrap_or(0)) << held;
            held += 32;
        }
        words.push(window & mask);
        window >>= bits;
        held -= bits;
    }
    words
}

fn little_endian_word(chunk: &[u8]) -> u32 {
    let mut word = [0u8; 4];
    word[..chunk.len()].copy_from_slice(chunk);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reading_undoes_writing(bits in 1u32..=96, words in prop::collection::vec(any::<u128>(), 0..40)) {
            let words: Vec<u128> = words.iter().map(|word| word & ((1 << bits) - 1)).collect();
            let mut bytes = vec![9];
            write(&mut bytes, bits, words.iter().copied());
            prop_assert_eq!(bytes.len(), 1 + stream_bytes(words.len(), bits));
            prop_assert_eq!(read(&bytes[1..], words.len(), bits), words);
        }
    }
}

//! Numbers as radix-16 digits, and their lookup tables.

/// Bits of a full digit.
const DIGIT_BITS: u32 = 4;

/// One digit of the numbers that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digit {
    /// Its place, in bits.
    pub shift: u32,
    /// Its width: 4, or less for the highest.
    pub bits: u32,
}

/// The digits of `value_bits`-bit numbers, lowest first.
pub(crate) fn digits(value_bits: u32) -> Vec<Digit> {
    (0..value_bits)
        .step_by(DIGIT_BITS as usize)
        .map(|shift| Digit { shift, bits: DIGIT_BITS.min(value_bits - shift) })
        .collect()
}

/// How many digits those numbers have.
pub(crate) fn digit_count(value_bits: u32) -> usize {
    value_bits.div_ceil(DIGIT_BITS) as usize
}

impl Digit {
    /// This digit of a number.
    pub fn of(self, value: u64) -> u32 {
        (value >> self.shift) as u32 & (self.entries() - 1)
    }

    /// Values that it can take.
    pub fn entries(self) -> u32 {
        1 << self.bits
    }

    /// Entries of a table that travel: entry 0 is always zero and stays at home.
    pub fn sent_entries(self) -> u32 {
        self.entries() - 1
    }

    /// Of the lowest digit only `less` is used.
    pub fn is_lowest(self) -> bool {
        self.shift == 0
    }
}

/// The table of a digit a: bit k is `[a < k]`, bit 16 + k is `[a = k]`, for k below 16.
pub(crate) fn less_equal_table(a: u32) -> u32 {
    (0xfffe << a & 0xffff) | 0x1_0000 << a
}

/// A table whose entry k is the other's entry k xor `flip`.
pub(crate) fn permute(table: u32, flip: u32) -> u32 {
    const ENTRIES_WITHOUT: [u32; 4] = [0x5555_5555, 0x3333_3333, 0x0f0f_0f0f, 0x00ff_00ff];
    let mut permuted = table;
    for (i, without) in ENTRIES_WITHOUT.into_iter().enumerate() {
        let distance = 1 << i;
        let swapped = (permuted & without) << distance | (permuted >> distance & without);
        let swap = (flip >> i & 1).wrapping_neg();
        permuted ^= (permuted ^ swapped) & swap;
    }
    permuted
}

/// `bits` (lowest: less, then equal) in every entry.
pub(crate) fn spread(bits: u32) -> u32 {
    ((bits & 1) * 0xffff) | ((bits >> 1 & 1) * 0xffff_0000)
}

/// Entry k of a table: less, then equal.
pub(crate) fn entry(table: u32, k: u32) -> u32 {
    (table >> k & 1) | (table >> (16 + k) & 1) << 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_the_comparison_with_every_entry() {
        for a in 0..16 {
            for k in 0..16 {
                let expected = u32::from(a < k) | u32::from(a == k) << 1;
                assert_eq!(entry(less_equal_table(a), k), expected);
            }
        }
    }

    #[test]
    fn permuting_moves_entry_k_to_k_xor_flip() {
        let table = 0x9e37_79b9;
        for flip in 0..16 {
            for k in 0..16 {
                assert_eq!(entry(permute(table, flip), k), entry(table, k ^ flip));
            }
        }
    }

    #[test]
    fn digits_cover_the_number() {
        let covered: u64 = digits(27)
            .into_iter()
            .map(|digit| u64::from(digit.of(0x5a5_a5a5)) << digit.shift)
            .sum();
        assert_eq!(covered, 0x5a5_a5a5);
        assert!(digits(0).is_empty());
    }
}

//! What a party does to its own share without a message.

use degreespar_link::Party;
use degreespar_ring::Ring;

/// Adds a public constant to shared values: the server does, the client keeps its share.
pub fn add_public(party: Party, ring: Ring, share: &[u64], constant: u64) -> Vec<u64> {
    let mine = if party.is_server() { constant } else { 0 };
    share.iter().map(|&word| ring.add(word, mine)).collect()
}

/// Shares of values modulo 2^b as shares modulo 2^(b - by) of the values over 2^by (truncate-and-reduce).
///
/// The server rounds its share down and the client rounds its share up, so the result is the floor or the ceiling:
/// unbiased, off by less than one unit, exact where 2^by divides. Nothing is left of b or fewer bits.
pub fn drop_low(party: Party, ring: Ring, share: &[u64], by: u32) -> Vec<u64> {
    if by >= ring.bits() {
        return vec![0; share.len()];
    }
    let kept = ring.mask() >> by;
    share.iter().map(|&word| shift_down(party, word, by) & kept).collect()
}

/// One share over 2^by, rounded down by the server and up by the client.
pub(crate) fn shift_down(party: Party, word: u64, by: u32) -> u64 {
    let floor = word >> by;
    let dropped = word ^ (floor << by);
    floor + u64::from(!party.is_server() && dropped != 0)
}

/// Shares modulo 2^b as shares modulo a smaller power: the high bits go.
pub fn narrow(to: Ring, share: &[u64]) -> Vec<u64> {
    share.iter().map(|&word| to.reduce(word)).collect()
}

/// a - b, element by element.
pub(crate) fn subtract(ring: Ring, a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(&a, &b)| ring.sub(a, b)).collect()
}

/// a + b, element by element.
pub(crate) fn add(ring: Ring, a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(&a, &b)| ring.add(a, b)).collect()
}

/// A rows x cols matrix, transposed.
pub(crate) fn transpose(matrix: &[u64], rows: usize, cols: usize) -> Vec<u64> {
    let mut out = Vec::with_capacity(matrix.len());
    for col in 0..cols {
        out.extend((0..rows).map(|row| matrix[row * cols + col]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use degreespar_ring::RingError;

    #[test]
    fn dropping_low_bits_gives_floor_or_ceiling_for_every_pair_of_shares() -> Result<(), RingError>
    {
        let ring = Ring::new(8)?;
        let narrow = Ring::new(5)?;
        for x in 0..256u64 {
            for x0 in 0..256u64 {
                let down = drop_low(Party::Server, ring, &[x0], 3)[0];
                let up = drop_low(Party::Client, ring, &[ring.sub(x, x0)], 3)[0];
                let got = narrow.add(down, up);
                assert!(got == x >> 3 || got == narrow.reduce(x.div_ceil(8)), "{x} from {x0}");
            }
        }
        Ok(())
    }

    #[test]
    fn dropping_from_the_full_width_does_not_overflow() -> Result<(), RingError> {
        let ring = Ring::new(64)?;
        assert_eq!(drop_low(Party::Client, ring, &[u64::MAX], 1), [0]);
        assert_eq!(drop_low(Party::Client, ring, &[u64::MAX], 0), [u64::MAX]);
        assert_eq!(drop_low(Party::Client, ring, &[u64::MAX], 64), [0]);
        Ok(())
    }
}

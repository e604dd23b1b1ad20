//! Matrix products modulo 2^b on row-major `u64` words.

use crate::Ring;

/// `left` (rows x inner) times `right` (inner x cols), both in the ring.
pub fn matmul(ring: Ring, left: &[u64], right: &[u64], inner: usize, cols: usize) -> Vec<u64> {
    product(ring, left, right, inner, cols, |word| *word)
}

/// `left` (rows x inner) in the ring times signed 16-bit `weights` (inner x cols).
pub fn matmul_narrow(
    ring: Ring,
    left: &[u64],
    weights: &[i16],
    inner: usize,
    cols: usize,
) -> Vec<u64> {
    product(ring, left, weights, inner, cols, |weight| i64::from(*weight) as u64)
}

fn product<T>(
    ring: Ring,
    left: &[u64],
    right: &[T],
    inner: usize,
    cols: usize,
    widen: impl Fn(&T) -> u64,
) -> Vec<u64> {
    if inner == 0 || cols == 0 {
        return Vec::new();
    }
    assert_eq!(left.len() % inner, 0, "left is not rows x inner");
    assert_eq!(right.len(), inner * cols, "right is not inner x cols");
    let mut out = vec![0u64; left.len() / inner * cols];
    for (row, sums) in left.chunks_exact(inner).zip(out.chunks_exact_mut(cols)) {
        for (&factor, line) in row.iter().zip(right.chunks_exact(cols)) {
            for (sum, value) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_add(factor.wrapping_mul(widen(value)));
            }
        }
        sums.iter_mut().for_each(|sum| *sum = ring.reduce(*sum));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RingError;

    #[test]
    fn a_hand_worked_product() -> Result<(), RingError> {
        let ring = Ring::new(8)?;
        let left = [1, 2, 3, 255, 0, 16];
        assert_eq!(matmul(ring, &left, &[1, 0, 2, 1, 3, 255], 3, 2), [14, 255, 47, 240]);
        assert_eq!(matmul_narrow(ring, &left, &[1, 0, 2, 1, 3, -1], 3, 2), [14, 255, 47, 240]);
        Ok(())
    }

    #[test]
    fn an_empty_inner_or_outer_side_gives_nothing() -> Result<(), RingError> {
        assert!(matmul(Ring::new(9)?, &[], &[], 4, 0).is_empty());
        Ok(())
    }
}

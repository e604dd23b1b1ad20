//! Packing ciphertexts by automorphisms (Chen, Dai, Kim, Song: ACNS 2021, algorithm 2, without the final trace).
//!
//! One level, for useful coefficients T apart: from A and B to A + X^(T/2) B + s(A - X^(T/2) B), where s takes X to
//! X^(1 + 2n/T). It doubles the useful coefficients of both, and clears what would fall between them.

use crate::basis::Basis;
use crate::fraction::DropPrime;
use crate::keys::LevelKey;
use crate::parameters::PACKED_PRIMES;

/// body + random * secret is the message; by coefficients, modulo the first [`PACKED_PRIMES`] primes.
pub(crate) struct Packed {
    pub(crate) body: Vec<u64>,
    pub(crate) random: Vec<u64>,
}

/// The exponent of level `level`, whose useful coefficients are 2^(level + 1) apart.
pub(crate) const fn exponent(dimension: usize, level: usize) -> usize {
    1 + (dimension >> level)
}

/// Where X^index goes under X -> X^exponent, and whether its sign turns.
pub(crate) fn image(dimension: usize, exponent: usize, index: usize) -> (usize, bool) {
    let target = index * exponent % (2 * dimension);
    (target % dimension, target >= dimension)
}

/// The packing tree, grown leaf by leaf: it holds one node per level at most.
///
/// Members' useful coefficients are K = `spacing` apart. Of 2^levels members the m-th ends up moved by K / 2^levels times
/// the reverse of m's bits, for siblings meet at the first level, and all are multiplied by 2^levels.
pub(crate) struct Packer<'a> {
    basis: &'a Basis,
    keys: &'a [LevelKey],
    spacing: usize,
    levels: u32,
    /// Ends every key switch.
    drop_special: DropPrime,
    /// Nodes that wait for their right sibling, each with its level, the highest first.
    waiting: Vec<(u32, Packed)>,
}

impl<'a> Packer<'a> {
    pub(crate) fn new(basis: &'a Basis, keys: &'a [LevelKey], spacing: usize, levels: u32) -> Self {
        let drop_special = DropPrime::new(&basis.first(PACKED_PRIMES + 1), 0);
        let waiting = Vec::with_capacity(levels as usize + 1);
        Self { basis, keys, spacing, levels, drop_special, waiting }
    }

    /// Adds the next member.
    pub(crate) fn push(&mut self, member: Packed) {
        let (mut level, mut node) = (0, member);
        while let Some((_, left)) = self.waiting.pop_if(|(waiting, _)| *waiting == level) {
            node = self.combine(level, left, Some(node));
            level += 1;
        }
        self.waiting.push((level, node));
    }

    /// The tree's root, missing members at its end taken as zero; nothing if there was no member.
    pub(crate) fn finish(mut self) -> Option<Packed> {
        let (mut level, mut node) = self.waiting.pop()?;
        while level < self.levels {
            let left = self.waiting.pop_if(|(waiting, _)| *waiting == level);
            node = match left {
                Some((_, left)) => self.combine(level, left, Some(node)),
                None => self.combine(level, node, None),
            };
            level += 1;
        }
        Some(node)
    }

    /// One node of the tree. An absent right side needs no clearing: nobody reads what lies between.
    fn combine(&self, level: u32, left: Packed, right: Option<Packed>) -> Packed {
        let narrow = self.basis.first(PACKED_PRIMES);
        let Some(right) = right else {
            return Packed {
                body: double(&narrow, left.body),
                random: double(&narrow, left.random),
            };
        };
        let (shift, key) = self.step(level);
        let (mut body, body_image) =
            butterfly(&narrow, key.exponent, shift, left.body, &right.body);
        let (mut random, image) =
            butterfly(&narrow, key.exponent, shift, left.random, &right.random);
        let switched = self.switch(key, &image);
        add_to(&narrow, &mut body, &body_image);
        add_to(&narrow, &mut body, &switched.body);
        add_to(&narrow, &mut random, &switched.random);
        Packed { body, random }
    }

    /// T/2 and the key of a level.
    fn step(&self, level: u32) -> (usize, &LevelKey) {
        let shift = (self.spacing >> level) / 2;
        (shift, &self.keys[shift.trailing_zeros() as usize])
    }

    /// Key switch: a pair under the secret whose message is `random` times the secret's image (hybrid, one digit per
    /// prime; Gentry, Halevi, Smart, CRYPTO 2012).
    ///
    /// 1. The digits of `random` are its residues. 2. Each, by values, times its key. 3. Divide by the special prime.
    fn switch(&self, key: &LevelKey, random: &[u64]) -> Packed {
        let wide = self.basis.first(PACKED_PRIMES + 1);
        let n = wide.dimension();
        let (mut body, mut switched) = (vec![0; wide.words()], vec![0; wide.words()]);
        let mut digit = vec![0; n];
        for (index, limb) in wide.limbs().iter().enumerate() {
            let range = index * n..(index + 1) * n;
            for (residues, key) in random.chunks_exact(n).zip(&key.digits) {
                for (word, &residue) in digit.iter_mut().zip(residues) {
                    *word = limb.modulus.below_prime(residue);
                }
                limb.forward(&mut digit);
                limb.multiply_add(&mut body[range.clone()], &digit, &key.body[range.clone()]);
                limb.multiply_add(&mut switched[range.clone()], &digit, &key.random[range.clone()]);
            }
            limb.inverse(&mut body[range.clone()]);
            limb.inverse(&mut switched[range]);
        }
        self.drop_special.apply(&mut body);
        self.drop_special.apply(&mut switched);
        Packed { body, random: switched }
    }
}

fn double(basis: &Basis, mut words: Vec<u64>) -> Vec<u64> {
    for (limb, part) in basis.parts_mut(&mut words) {
        part.iter_mut().for_each(|word| *word = limb.modulus.add(*word, *word));
    }
    words
}

/// a + X^shift b, and the image of a - X^shift b.
fn butterfly(
    basis: &Basis,
    exponent: usize,
    shift: usize,
    mut a: Vec<u64>,
    b: &[u64],
) -> (Vec<u64>, Vec<u64>) {
    let n = basis.dimension();
    let mut images = vec![0; a.len()];
    let parts = b.chunks_exact(n).zip(images.chunks_exact_mut(n));
    for ((limb, sums), (b, image)) in basis.parts_mut(&mut a).zip(parts) {
        let modulus = limb.modulus;
        let (low, high) = b.split_at(n - shift);
        let (first, second) = sums.split_at_mut(shift);
        let wrapped = first.iter_mut().zip(high).map(|(sum, &b)| (sum, modulus.negate(b)));
        let moved = wrapped.chain(second.iter_mut().zip(low).map(|(sum, &b)| (sum, b)));
        let mut target = 0;
        moved.for_each(|(sum, b)| {
            let difference = modulus.sub(*sum, b);
            *sum = modulus.add(*sum, b);
            // X^(index * exponent); beyond n it has come round with the other sign
            let turned = modulus.negate(difference);
            image[target & (n - 1)] = if target & n == 0 { difference } else { turned };
            target += exponent;
        });
    }
    (a, images)
}

/// sum += term.
fn add_to(basis: &Basis, sum: &mut [u64], term: &[u64]) {
    let terms = term.chunks_exact(basis.dimension());
    for ((limb, sum), term) in basis.parts_mut(sum).zip(terms) {
        for (sum, &term) in sum.iter_mut().zip(term) {
            *sum = limb.modulus.add(*sum, term);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::PACK_LEVELS;
    use crate::tests::any_set_keys;

    #[test]
    fn images_under_every_level_are_permutations_that_fix_their_useful_coefficients() {
        for level in 0..PACK_LEVELS as usize {
            let exponent = exponent(4096, level);
            let mut seen = vec![false; 4096];
            for index in 0..4096 {
                let (target, turned) = image(4096, exponent, index);
                assert!(!std::mem::replace(&mut seen[target], true));
                let spacing = 2 << level;
                assert!(index % spacing != 0 || (target, turned) == (index, false));
                assert!(index % spacing != spacing / 2 || (target, turned) == (index, true));
            }
        }
    }

    /// With nothing under the secret, packing is exact.
    #[test]
    fn members_end_up_at_their_offsets_times_the_number_of_members() {
        let keys = any_set_keys();
        let (narrow, n, spacing, count) = (keys.basis.first(PACKED_PRIMES), 4096, 16, 8);
        let body = |member: usize| (0..2 * n).map(|x| (x % n * 31 + member + 1) as u64).collect();
        let member = |m| Packed { body: body(m), random: vec![0; narrow.words()] };
        let mut packer = Packer::new(&keys.basis, &keys.levels, spacing, 3);
        (0..5).for_each(|m| packer.push(member(m)));
        let packed = packer.finish().map(|packed| packed.body);
        for (m, slot) in (0..5).flat_map(|m| (0..n / spacing).map(move |slot| (m, slot))) {
            let expected = count * (slot * spacing * 31 + m + 1);
            let position = slot * spacing + [0, 4, 2, 6, 1][m] * spacing / count;
            let word = |limb: usize| packed.as_ref().map(|body| body[limb * n + position]);
            assert_eq!((word(0), word(1)), (Some(expected as u64), Some(expected as u64)));
        }
    }
}

//! Secret keys and symmetric encryptions: pairs (body, random) with body + random * secret = message + error.

use crate::basis::Basis;
use crate::sample::{errors, ternary};
use rand_chacha::ChaCha20Rng;

/// A ternary secret.
pub(crate) struct Secret {
    pub(crate) coefficients: Vec<i8>,
    /// Normalized values, by every prime of the basis.
    pub(crate) values: Vec<u64>,
}

impl Secret {
    pub(crate) fn sample(basis: &Basis, rng: &mut ChaCha20Rng) -> Self {
        let coefficients = ternary(rng, basis.dimension());
        let mut values = basis.transform_small(&coefficients);
        basis.normalize(&mut values);
        Self { coefficients, values }
    }
}

/// The body of an encryption of zero, by coefficients: error - random * secret. `random` is given by values.
pub(crate) fn zero_body(
    basis: &Basis,
    secret: &Secret,
    random: &[u64],
    rng: &mut ChaCha20Rng,
) -> Vec<u64> {
    let mut body = basis.product(random, &secret.values);
    let errors = errors(rng, basis.dimension());
    for (limb, part) in basis.parts_mut(&mut body) {
        for (word, &error) in part.iter_mut().zip(&errors) {
            *word = limb.modulus.sub(limb.modulus.small(error), *word);
        }
    }
    body
}

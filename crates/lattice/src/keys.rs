//! The key message: for each parameter set a public key and the automorphism keys of the packing tree.
//!
//! Per set: a seed; the public key's body by every prime of the set; per level and digit the automorphism key's body by
//! the packed primes and the special prime. All by values, 36 bits a word; the random halves come from the seed.

use crate::LatticeError;
use crate::basis::{Basis, Limb};
use crate::bitstream::{read, stream_bytes, write};
use crate::encrypt::{Secret, zero_body};
use crate::modulus::RESIDUE_BITS;
use crate::pack::{exponent, image};
use crate::parameters::{PACK_LEVELS, PACKED_PRIMES, Set};
use crate::sample::{SEED_BYTES, Seed, expand, seed};
use rand_chacha::ChaCha20Rng;

const WHAT: &str = "key message";

/// A ciphertext by values; normalized ones where it is a key.
pub(crate) struct KeyPair {
    pub(crate) body: Vec<u64>,
    pub(crate) random: Vec<u64>,
}

/// Takes ciphertexts under the secret's image back to the secret; the i-th pair is for the residues by the i-th prime.
pub(crate) struct LevelKey {
    pub(crate) exponent: usize,
    pub(crate) digits: Vec<KeyPair>,
}

/// What the server needs of a client, for one parameter set.
pub(crate) struct SetKeys {
    pub(crate) basis: Basis,
    /// An encryption of zero.
    pub(crate) zero: KeyPair,
    pub(crate) levels: Vec<LevelKey>,
}

/// Bytes of one set's part of the message.
pub(crate) const fn set_bytes(set: Set) -> usize {
    let pairs = PACK_LEVELS as usize * PACKED_PRIMES * (PACKED_PRIMES + 1);
    SEED_BYTES + stream_bytes(set.dimension * (set.primes + pairs), RESIDUE_BITS)
}

/// One set's part of the message.
pub(crate) fn write_set(
    basis: &Basis,
    secret: &Secret,
    rng: &mut ChaCha20Rng,
    message: &mut Vec<u8>,
) {
    let seed = seed(rng);
    message.extend_from_slice(&seed);
    let mut body = zero_body(basis, secret, &expand(basis, seed, 0), rng);
    basis.parts_mut(&mut body).for_each(|(limb, part)| limb.forward(part));
    write_words(basis, message, &body);
    for level in 0..PACK_LEVELS as usize {
        for digit in 0..PACKED_PRIMES {
            let random = expand(&key_basis(basis), seed, stream(level, digit));
            write_words(basis, message, &digit_body(basis, secret, level, digit, &random, rng));
        }
    }
}

/// The body of an encryption of special * image(secret), by the digit's prime; of zero by the others.
fn digit_body(
    basis: &Basis,
    secret: &Secret,
    level: usize,
    digit: usize,
    random: &[u64],
    rng: &mut ChaCha20Rng,
) -> Vec<u64> {
    let (basis, n) = (key_basis(basis), basis.dimension());
    let mut body = zero_body(&basis, secret, random, rng);
    let modulus = basis.modulus(digit);
    let special = modulus.factor(basis.modulus(PACKED_PRIMES).prime());
    let exponent = exponent(n, level);
    for (index, &coefficient) in secret.coefficients.iter().enumerate() {
        let (target, turns) = image(n, exponent, index);
        let coefficient = if turns { -coefficient } else { coefficient };
        let word = &mut body[digit * n + target];
        *word = modulus.add(*word, modulus.times(modulus.small(coefficient), special));
    }
    basis.parts_mut(&mut body).for_each(|(limb, part)| limb.forward(part));
    body
}

/// Reads one set's part of the message, of [`set_bytes`] bytes.
pub(crate) fn read_set(basis: Basis, message: &[u8]) -> Result<SetKeys, LatticeError> {
    let (seed_bytes, mut words) = message.split_at(SEED_BYTES);
    let mut seed = Seed::default();
    seed.copy_from_slice(seed_bytes);
    let mut pair = |basis: &Basis, stream: u64| {
        let (head, tail) = words.split_at(stream_bytes(basis.words(), RESIDUE_BITS));
        words = tail;
        read_pair(basis, head, seed, stream)
    };
    let zero = pair(&basis, 0)?;
    let keyed = key_basis(&basis);
    let mut levels = Vec::with_capacity(PACK_LEVELS as usize);
    for level in 0..PACK_LEVELS as usize {
        let digits = (0..PACKED_PRIMES).map(|digit| pair(&keyed, stream(level, digit)));
        let digits = digits.collect::<Result<_, LatticeError>>()?;
        levels.push(LevelKey { exponent: exponent(basis.dimension(), level), digits });
    }
    Ok(SetKeys { basis, zero, levels })
}

/// A key's body from its bytes, by values, and its random half from the seed.
pub(crate) fn read_pair(
    basis: &Basis,
    bytes: &[u8],
    seed: Seed,
    stream: u64,
) -> Result<KeyPair, LatticeError> {
    let mut body = read_residues(basis, bytes, WHAT)?;
    let mut random = expand(basis, seed, stream);
    basis.normalize(&mut body);
    basis.normalize(&mut random);
    Ok(KeyPair { body, random })
}

fn key_basis(basis: &Basis) -> Basis {
    basis.first(PACKED_PRIMES + 1)
}

/// The seed's stream for a digit of a level; the public key has stream 0.
fn stream(level: usize, digit: usize) -> u64 {
    (1 + level * PACKED_PRIMES + digit) as u64
}

/// Appends residues.
pub(crate) fn write_words(basis: &Basis, message: &mut Vec<u8>, words: &[u64]) {
    write(message, basis.residue_bits(), words.iter().map(|&word| u128::from(word)));
}

/// One polynomial of residues, each below its prime.
pub(crate) fn read_residues(
    basis: &Basis,
    bytes: &[u8],
    what: &'static str,
) -> Result<Vec<u64>, LatticeError> {
    let words = read(bytes, basis.words(), basis.residue_bits());
    let words: Vec<u64> = words.into_iter().map(|word| word as u64).collect();
    let below = |(limb, part): (&Limb, &[u64])| part.iter().all(|&w| w < limb.modulus.prime());
    let reduced = basis.parts(&words).all(below);
    if reduced { Ok(words) } else { Err(LatticeError::Residue(what)) }
}

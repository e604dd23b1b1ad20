//! The client's side: keys, requests, decryption.

use crate::LatticeError;
use crate::basis::Basis;
use crate::bitstream::read;
use crate::encrypt::{Secret, zero_body};
use crate::fraction::{Lift, ScaleUp};
use crate::keys::{set_bytes, write_set, write_words};
use crate::parameters::{BODY_GUARD_BITS, LARGE, RANDOM_HALF_GUARD_BITS, SMALL, Set};
use crate::sample::{expand, fork, seed};
use crate::shape::ProductShape;
use crate::slots::{self, SlotSecret};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, RngCore};
use std::num::NonZeroUsize;

/// The client's secret keys, one per parameter set.
pub struct ClientKeys {
    small: SetSecret,
    large: SetSecret,
    slots: Vec<SlotSecret>,
    threads: NonZeroUsize,
}

/// One parameter set's secret.
pub(crate) struct SetSecret {
    pub(crate) basis: Basis,
    pub(crate) secret: Secret,
}

impl ClientKeys {
    /// Fresh keys, and the message of [`Self::public_bytes`] bytes that the server needs before any request.
    pub fn generate(rng: &mut impl CryptoRng) -> (Self, Vec<u8>) {
        let mut rng = fork(rng);
        let mut message = Vec::with_capacity(Self::public_bytes());
        let mut make = |set: Set| {
            let basis = Basis::new(set.dimension, set.primes);
            let secret = Secret::sample(&basis, &mut rng);
            write_set(&basis, &secret, &mut rng, &mut message);
            SetSecret { basis, secret }
        };
        let (small, large) = (make(SMALL), make(LARGE));
        let slots = slots::SETS.map(|set| SlotSecret::generate(set, &mut rng, &mut message));
        (Self { small, large, slots: slots.into(), threads: NonZeroUsize::MIN }, message)
    }

    /// Exact length of the key message.
    pub fn public_bytes() -> usize {
        let slots = slots::SETS.iter().map(|set| set.key_bytes());
        set_bytes(SMALL) + set_bytes(LARGE) + slots.sum::<usize>()
    }

    /// Lets the client use more than one thread.
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    /// The encryption of `matrix` (rows x inner, row by row), of `shape.request_bytes()` bytes.
    ///
    /// # Panics
    ///
    /// If the matrix has another size than the shape.
    pub fn request(
        &self,
        shape: &ProductShape,
        matrix: &[u64],
        rng: &mut impl CryptoRng,
    ) -> Vec<u8> {
        assert_eq!(matrix.len(), shape.rows() * shape.inner(), "matrix is not rows x inner");
        let mut rng = fork(rng);
        let set = self.set(shape);
        let basis = set.basis.first(shape.parameters.primes);
        let scale = ScaleUp::new(&basis, shape.ring());
        let seed = seed(&mut rng);
        let mut message = Vec::with_capacity(shape.request_bytes());
        message.extend_from_slice(&seed);
        for (stream, tile) in tiles(shape).enumerate() {
            let mut random = expand(&basis, seed, stream as u64);
            basis.parts_mut(&mut random).for_each(|(limb, part)| limb.forward(part));
            let mut body = zero_body(&basis, &set.secret, &random, &mut rng);
            add_tile(&basis, &scale, shape, matrix, tile, &mut body, &mut rng);
            write_words(&basis, &mut message, &body);
        }
        message
    }

    /// The client's share (rows x cols) from the server's reply.
    pub fn finish(&self, shape: &ProductShape, reply: &[u8]) -> Result<Vec<u64>, LatticeError> {
        let half = 1 << (RANDOM_HALF_GUARD_BITS - 1);
        let element = |phase: u128| (phase.wrapping_add(half) >> RANDOM_HALF_GUARD_BITS) as u64;
        let phases = self.phases(shape, reply)?;
        Ok(phases.into_iter().map(|phase| shape.ring().reduce(element(phase))).collect())
    }

    /// The elements times 2^[`RANDOM_HALF_GUARD_BITS`] plus their errors, modulo 2^(bits + guard) in the low bits.
    pub(crate) fn phases(
        &self,
        shape: &ProductShape,
        reply: &[u8],
    ) -> Result<Vec<u128>, LatticeError> {
        let expected = shape.reply_bytes();
        if reply.len() != expected {
            return Err(LatticeError::Length { what: "reply", expected, got: reply.len() });
        }
        let (halves, bodies) = reply.split_at(expected - shape.bodies_bytes());
        let set = self.set(shape);
        let decoder = Decoder::new(&set.basis, &set.secret, shape.random_half_bits());
        let mut phases = read(bodies, shape.rows() * shape.cols(), shape.body_bits());
        phases.iter_mut().for_each(|body| *body <<= RANDOM_HALF_GUARD_BITS - BODY_GUARD_BITS);
        let mut halves = halves.chunks_exact(shape.random_half_bytes());
        let tiling = &shape.tiling;
        for row_tile in 0..tiling.row_tiles() {
            for (pack, half) in (0..tiling.packs()).zip(halves.by_ref()) {
                let product = decoder.times_secret(half);
                for (entry, position) in tiling.entries(row_tile, pack) {
                    let part = decoder.coefficient(&product, position);
                    phases[entry] = phases[entry].wrapping_add(part);
                }
            }
        }
        Ok(phases)
    }

    pub(crate) fn slots(&self) -> &[SlotSecret] {
        &self.slots
    }

    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    pub(crate) fn set(&self, shape: &ProductShape) -> &SetSecret {
        if shape.parameters.set == SMALL { &self.small } else { &self.large }
    }
}

/// The (row tile, inner tile) of every request ciphertext, in order.
fn tiles(shape: &ProductShape) -> impl Iterator<Item = (usize, usize)> {
    let inner_tiles = shape.tiling.inner_tiles();
    (0..shape.tiling.row_tiles())
        .flat_map(move |row| (0..inner_tiles).map(move |inner| (row, inner)))
}

/// Adds the scaled entries of a tile to the body of an encryption of zero.
///
/// The scaled entry's fraction is rounded up as often as it says, so that the rounding is an error like the others: of
/// mean 0 and variance 1/4 at most, whatever the entries are.
fn add_tile(
    basis: &Basis,
    scale: &ScaleUp,
    shape: &ProductShape,
    matrix: &[u64],
    (row_tile, inner_tile): (usize, usize),
    body: &mut [u64],
    rng: &mut ChaCha20Rng,
) {
    let (tiling, ring) = (&shape.tiling, shape.ring());
    for (i, row) in tiling.rows_in(row_tile).enumerate() {
        for (k, term) in tiling.inner_in(inner_tile).enumerate() {
            let rest = scale.rest(ring.reduce(matrix[row * shape.inner() + term]));
            let round_up = u64::from(ring.reduce(rng.next_u64()) < rest);
            let position = tiling.client_position(i, k);
            for (index, (limb, part)) in basis.parts_mut(body).enumerate() {
                let scaled = scale.residue(limb.modulus, index, rest);
                let scaled = limb.modulus.add(scaled, round_up);
                part[position] = limb.modulus.add(part[position], scaled);
            }
        }
    }
}

/// Products of a reply's rounded random halves with the secret.
pub(crate) struct Decoder<'a> {
    secret: &'a Secret,
    bits: u32,
    /// Enough primes for the product over the integers.
    basis: Basis,
    lift: Lift,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(basis: &Basis, secret: &'a Secret, bits: u32) -> Self {
        // |random * secret| < n * 2^bits, and two bits more for `Lift`; q is a little below its power of two
        let needed = bits + basis.dimension().trailing_zeros() + 3;
        let basis = basis.first(needed.div_ceil(basis.residue_bits()) as usize);
        Self { secret, bits, lift: Lift::new(&basis), basis }
    }

    /// By residues.
    pub(crate) fn times_secret(&self, half: &[u8]) -> Vec<u64> {
        let random = read(half, self.basis.dimension(), self.bits);
        let mut values = Vec::with_capacity(self.basis.words());
        for limb in self.basis.limbs() {
            let start = values.len();
            values.extend(random.iter().map(|&word| limb.modulus.reduce_wide(word)));
            limb.forward(&mut values[start..]);
        }
        self.basis.product(&values, &self.secret.values)
    }

    /// A coefficient of such a product as an integer.
    pub(crate) fn coefficient(&self, product: &[u64], position: usize) -> u128 {
        self.lift.coefficient(product, position)
    }
}

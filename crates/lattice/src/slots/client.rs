//! The client's side: encrypting vectors, decrypting sums of products.

use super::plaintext::Plaintexts;
use super::{DIMENSION, SlotSet, SlotShape};
use crate::bitstream::read;
use crate::client::Decoder;
use crate::encrypt::{Secret, zero_body};
use crate::keys::write_words;
use crate::parallel::in_parallel;
use crate::parameters::{BODY_GUARD_BITS, RANDOM_HALF_GUARD_BITS};
use crate::sample::{Seed, errors, expand, seed};
use crate::{ClientKeys, LatticeError};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, RngCore, SeedableRng};

/// The secret of one set.
pub(crate) struct SlotSecret {
    plaintexts: Plaintexts,
    secret: Secret,
    /// The secret's values, not normalized: its products stay values.
    values: Vec<u64>,
}

impl SlotSecret {
    /// A fresh secret; appends its public encryption of zero to the key message.
    pub(crate) fn generate(set: &SlotSet, rng: &mut ChaCha20Rng, message: &mut Vec<u8>) -> Self {
        let plaintexts = Plaintexts::new(set);
        let basis = plaintexts.basis();
        let (secret, seed) = (Secret::sample(basis, rng), seed(rng));
        message.extend_from_slice(&seed);
        let mut body = zero_body(basis, &secret, &expand(basis, seed, 0), rng);
        basis.parts_mut(&mut body).for_each(|(limb, part)| limb.forward(part));
        write_words(basis, message, &body);
        let values = basis.transform_small(&secret.coefficients);
        Self { plaintexts, secret, values }
    }

    /// One chunk of a vector as a ciphertext of the `kind`-th plaintext modulus, encrypted: the body by values.
    ///
    /// The random half is given by values. The scaled coefficient's fraction is rounded up as often as it says, so
    /// that the rounding is an error of mean 0 whatever the entries are (t is 2^scale_bits up to a part of 2^-20).
    fn encrypt(
        &self,
        set: &SlotSet,
        kind: usize,
        entries: impl Iterator<Item = i64> + Clone,
        random: &[u64],
        rng: &mut ChaCha20Rng,
    ) -> Vec<u64> {
        let (plaintexts, basis) = (&self.plaintexts, self.plaintexts.basis());
        let message = plaintexts.polynomial(kind, entries.map(i128::from));
        let rests: Vec<u128> = message.iter().map(|&word| plaintexts.rest(kind, word)).collect();
        let fraction = (1 << set.scale_bits()) - 1;
        let mut draw = || u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let round_up = rests.iter().map(|&rest| i8::from(draw() & fraction < rest));
        let round_up: Vec<i8> = round_up.collect();
        let errors = errors(rng, DIMENSION);
        let small: Vec<i8> = round_up.iter().zip(errors).map(|(up, e)| up + e).collect();
        let mut body = Vec::with_capacity(basis.words());
        let factors = random.chunks_exact(DIMENSION).zip(self.values.chunks_exact(DIMENSION));
        let mut masks = vec![0; DIMENSION];
        for (number, (limb, (random, secret))) in basis.limbs().iter().zip(factors).enumerate() {
            let modulus = limb.modulus;
            let scaled = rests.iter().map(|&rest| plaintexts.scaled(kind, number, rest));
            let noisy = scaled.zip(&small).map(|(word, &e)| modulus.add(word, modulus.small(e)));
            let start = body.len();
            body.extend(noisy);
            limb.forward(&mut body[start..]);
            masks.fill(0);
            limb.multiply_add(&mut masks, random, secret);
            for (word, &mask) in body[start..].iter_mut().zip(&masks) {
                *word = modulus.sub(*word, mask);
            }
        }
        body
    }

    /// An encryption of zero of the first plaintext modulus, by values.
    #[cfg(test)]
    pub(crate) fn encryption_of_zero(
        &self,
        set: &SlotSet,
        rng: &mut ChaCha20Rng,
    ) -> (Vec<u64>, Vec<u64>) {
        let random = expand(self.plaintexts.basis(), seed(rng), 0);
        (self.encrypt(set, 0, std::iter::empty(), &random, rng), random)
    }

    /// The secret by normalized values.
    #[cfg(test)]
    pub(crate) fn normalized(&self) -> &[u64] {
        &self.secret.values
    }

    /// The slots of one reply ciphertext.
    fn decrypt(&self, shape: &SlotShape, kind: usize, reply: &[u8]) -> Vec<u128> {
        let (half, bodies) = reply.split_at(shape.random_half_bytes());
        let decoder = Decoder::new(self.plaintexts.basis(), &self.secret, shape.random_half_bits());
        let product = decoder.times_secret(half);
        let bodies = read(bodies, DIMENSION, shape.body_bits());
        let phase = |(position, body): (usize, u128)| {
            (body << (RANDOM_HALF_GUARD_BITS - BODY_GUARD_BITS))
                .wrapping_add(decoder.coefficient(&product, position))
        };
        let phases = bodies.into_iter().enumerate().map(phase);
        let words = phases.map(|phase| self.plaintexts.coefficient(kind, phase));
        self.plaintexts.slots(kind, &words.collect::<Vec<_>>())
    }
}

/// One ciphertext of a request or reply: its vector, chunk and kind of plaintext.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) term: usize,
    pub(super) chunk: usize,
    pub(super) kind: usize,
    pub(super) seed: Seed,
}

/// The ciphertexts of `terms` vectors in their order, each with a seed of its own.
pub(super) fn jobs(shape: &SlotShape, terms: usize, rng: &mut impl CryptoRng) -> Vec<Job> {
    let (chunks, kinds) = (shape.chunks(), shape.parameters().kinds());
    let places = (0..terms)
        .flat_map(|term| (0..chunks).flat_map(move |c| (0..kinds).map(move |k| (term, c, k))));
    places.map(|(term, chunk, kind)| Job { term, chunk, kind, seed: seed(rng) }).collect()
}

/// A chunk of a vector as signed integers.
pub(super) fn entries(
    shape: &SlotShape,
    vector: &[u64],
    chunk: usize,
) -> impl Iterator<Item = i64> + Clone {
    let ring = shape.ring();
    let start = chunk * DIMENSION;
    let end = vector.len().min(start + DIMENSION);
    vector[start..end].iter().map(move |&word| ring.decode(ring.reduce(word)))
}

impl ClientKeys {
    /// The encryption of the client's vectors (`shape.terms()` of `shape.count()` entries), of `shape.request_bytes()` bytes.
    ///
    /// # Panics
    ///
    /// If there are other vectors than the shape says.
    pub fn request_slots(
        &self,
        shape: &SlotShape,
        vectors: &[&[u64]],
        rng: &mut impl CryptoRng,
    ) -> Vec<u8> {
        assert_eq!(vectors.len(), shape.terms(), "one vector for each term");
        assert!(vectors.iter().all(|vector| vector.len() == shape.count()), "one entry each");
        let secret = &self.slots()[shape.set()];
        let basis = secret.plaintexts.basis();
        let public = seed(rng);
        let jobs: Vec<(usize, Job)> =
            jobs(shape, shape.terms(), rng).into_iter().enumerate().collect();
        let bodies = in_parallel(self.threads(), &jobs, |&(stream, job)| {
            let random = expand(basis, public, stream as u64);
            let mut rng = ChaCha20Rng::from_seed(job.seed);
            let entries = entries(shape, vectors[job.term], job.chunk);
            let body = secret.encrypt(shape.parameters(), job.kind, entries, &random, &mut rng);
            let mut bytes = Vec::with_capacity(shape.request_ciphertext_bytes());
            write_words(basis, &mut bytes, &body);
            bytes
        });
        let mut message = Vec::with_capacity(shape.request_bytes());
        message.extend_from_slice(&public);
        bodies.iter().for_each(|body| message.extend_from_slice(body));
        message
    }

    /// The client's share from the server's reply.
    pub fn finish_slots(&self, shape: &SlotShape, reply: &[u8]) -> Result<Vec<u64>, LatticeError> {
        let expected = shape.reply_bytes();
        if reply.len() != expected {
            return Err(LatticeError::Length { what: "reply", expected, got: reply.len() });
        }
        let secret = &self.slots()[shape.set()];
        let (each, kinds) = (shape.reply_ciphertext_bytes(), shape.parameters().kinds());
        let chunks: Vec<&[u8]> = reply.chunks_exact(kinds * each).collect();
        let chunks = in_parallel(self.threads(), &chunks, |chunk| {
            let parts = chunk.chunks_exact(each).enumerate();
            let parts: Vec<_> =
                parts.map(|(kind, part)| secret.decrypt(shape, kind, part)).collect();
            let masked = secret.plaintexts.whole(parts).into_iter();
            masked.map(|masked| shape.result().reduce(masked as u64)).collect::<Vec<u64>>()
        });
        let mut share = chunks.concat();
        share.truncate(shape.count());
        Ok(share)
    }
}

//! The server's side: products with its vectors.

use super::client::{Job, entries, jobs};
use super::plaintext::Plaintexts;
use super::{DIMENSION, SlotSet, SlotShape};
use crate::bitstream::write;
use crate::fraction::RoundDown;
use crate::keys::{KeyPair, read_pair, read_residues};
use crate::parallel::in_parallel;
use crate::sample::{SEED_BYTES, Seed, errors, expand, flood, ternary};
use crate::{LatticeError, ServerKeys};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};

/// What the server holds of the client, for one set.
pub(crate) struct SlotKeys {
    pub(crate) plaintexts: Plaintexts,
    /// An encryption of zero, by normalized values.
    pub(crate) zero: KeyPair,
}

/// A reply ciphertext before it is rounded, by coefficients.
pub(crate) struct Hidden {
    pub(crate) body: Vec<u64>,
    pub(crate) random: Vec<u64>,
}

impl SlotKeys {
    /// Reads a set's part of the key message, of [`SlotSet::key_bytes`] bytes.
    pub(crate) fn parse(set: &SlotSet, message: &[u8]) -> Result<Self, LatticeError> {
        let plaintexts = Plaintexts::new(set);
        let (seed, body) = split_seed(message);
        let zero = read_pair(plaintexts.basis(), body, seed, 0)?;
        Ok(Self { plaintexts, zero })
    }

    /// The sum of products, safe to show: its random half is covered by a fresh encryption of zero (the client knows its own
    /// random halves), its message by the masks, its errors (multiples of the server's entries) by the flood.
    ///
    /// `factors`: the server's polynomials with the client's ciphertexts, all by values.
    pub(crate) fn hidden(
        &self,
        kind: usize,
        factors: &[(Vec<u64>, KeyPair)],
        masks: &[u128],
        flood_bits: u32,
        rng: &mut ChaCha20Rng,
    ) -> Hidden {
        let (plaintexts, basis) = (&self.plaintexts, self.plaintexts.basis());
        let fresh = basis.transform_small(&ternary(rng, DIMENSION));
        let mut random = basis.products(&self.terms(&fresh, factors, |pair| &pair.random));
        let mut body = basis.products(&self.terms(&fresh, factors, |pair| &pair.body));
        let [random_errors, body_errors] = [(); 2].map(|()| errors(rng, DIMENSION));
        for (limb, part) in basis.parts_mut(&mut random) {
            for (word, &e) in part.iter_mut().zip(&random_errors) {
                *word = limb.modulus.add(*word, limb.modulus.small(e));
            }
        }
        let rests: Vec<u128> = masks.iter().map(|&mask| plaintexts.rest(kind, mask)).collect();
        let floods: Vec<_> = (0..DIMENSION).map(|_| flood(rng, flood_bits)).collect();
        for (number, (limb, part)) in basis.parts_mut(&mut body).enumerate() {
            let noise = rests.iter().zip(&floods).zip(&body_errors);
            for (word, ((&rest, flood), &e)) in part.iter_mut().zip(noise) {
                let (modulus, mask) = (limb.modulus, plaintexts.scaled(kind, number, rest));
                let noise = modulus.add(flood.residue(modulus), modulus.small(e));
                *word = modulus.add(modulus.add(*word, mask), noise);
            }
        }
        Hidden { body, random }
    }

    /// Every product's two factors, the fresh encryption's first; one of each two is normalized.
    fn terms<'a>(
        &'a self,
        fresh: &'a [u64],
        factors: &'a [(Vec<u64>, KeyPair)],
        half: impl Fn(&'a KeyPair) -> &'a Vec<u64>,
    ) -> Vec<(&'a [u64], &'a [u64])> {
        let products = factors.iter().map(|(own, pair)| (own.as_slice(), half(pair).as_slice()));
        [(fresh, half(&self.zero).as_slice())].into_iter().chain(products).collect()
    }

    /// The server's polynomial of a chunk, by normalized values.
    pub(crate) fn factor(
        &self,
        kind: usize,
        entries: impl Iterator<Item = i64> + Clone,
    ) -> Vec<u64> {
        let polynomial = self.plaintexts.polynomial(kind, entries.map(i128::from));
        let mut values = self.plaintexts.factor_values(kind, &polynomial);
        self.plaintexts.basis().normalize(&mut values);
        values
    }
}

/// A request whose ciphertexts are read one by one.
struct Request<'a> {
    seed: Seed,
    bodies: Vec<&'a [u8]>,
}

impl<'a> Request<'a> {
    fn split(shape: &SlotShape, message: &'a [u8]) -> Result<Self, LatticeError> {
        let expected = shape.request_bytes();
        if message.len() != expected {
            return Err(LatticeError::Length { what: "request", expected, got: message.len() });
        }
        let (seed, bodies) = split_seed(message);
        Ok(Self { seed, bodies: bodies.chunks_exact(shape.request_ciphertext_bytes()).collect() })
    }

    /// The ciphertext of a vector's chunk, by values.
    fn ciphertext(
        &self,
        keys: &SlotKeys,
        shape: &SlotShape,
        job: Job,
    ) -> Result<KeyPair, LatticeError> {
        let basis = keys.plaintexts.basis();
        let kinds = shape.parameters().kinds();
        let place = (job.term * shape.chunks() + job.chunk) * kinds + job.kind;
        let body = read_residues(basis, self.bodies[place], "request")?;
        Ok(KeyPair { body, random: expand(basis, self.seed, place as u64) })
    }
}

impl ServerKeys {
    /// The reply to a request, and the server's share: uniform, whatever the request was.
    ///
    /// # Panics
    ///
    /// If there are other vectors than the shape says.
    pub fn reply_slots(
        &self,
        shape: &SlotShape,
        request: &[u8],
        vectors: &[&[u64]],
        rng: &mut impl CryptoRng,
    ) -> Result<(Vec<u8>, Vec<u64>), LatticeError> {
        assert_eq!(vectors.len(), shape.terms(), "one vector for each term");
        assert!(vectors.iter().all(|vector| vector.len() == shape.count()), "one entry each");
        let (keys, request) = (&self.slots()[shape.set()], Request::split(shape, request)?);
        let masks = draw_masks(shape.count(), keys.plaintexts.product(), rng);
        let jobs = jobs(shape, 1, rng);
        let replies = in_parallel(self.threads(), &jobs, |&job| {
            reply_one(keys, shape, &request, vectors, &masks, job)
        });
        let mut message = Vec::with_capacity(shape.reply_bytes());
        for reply in replies {
            message.extend_from_slice(&reply?);
        }
        let ring = shape.result();
        Ok((message, masks.iter().map(|&mask| ring.neg(ring.reduce(mask as u64))).collect()))
    }
}

/// One ciphertext of the reply.
fn reply_one(
    keys: &SlotKeys,
    shape: &SlotShape,
    request: &Request<'_>,
    vectors: &[&[u64]],
    masks: &[u128],
    job: Job,
) -> Result<Vec<u8>, LatticeError> {
    let mut rng = ChaCha20Rng::from_seed(job.seed);
    let plaintexts = &keys.plaintexts;
    let mut factors = Vec::with_capacity(vectors.len());
    for (term, vector) in vectors.iter().enumerate() {
        let pair = request.ciphertext(keys, shape, Job { term, ..job })?;
        factors.push((keys.factor(job.kind, entries(shape, vector, job.chunk)), pair));
    }
    let start = job.chunk * DIMENSION;
    let masks = &masks[start..masks.len().min(start + DIMENSION)];
    let masks = plaintexts.polynomial(job.kind, masks.iter().map(|&mask| mask as i128));
    let flood_bits = shape.parameters().flood_bits();
    let hidden = keys.hidden(job.kind, &factors, &masks, flood_bits, &mut rng);
    let round = RoundDown::new(plaintexts.basis());
    let mut bytes = Vec::with_capacity(shape.reply_ciphertext_bytes());
    let parts = [(hidden.random, shape.random_half_bits()), (hidden.body, shape.body_bits())];
    for (polynomial, bits) in parts {
        let words = (0..DIMENSION).map(|x| round.coefficient(&polynomial, x, bits));
        write(&mut bytes, bits, words);
    }
    Ok(bytes)
}

/// A mask for every entry, uniform below T: what the client decrypts is uniform, whatever the products are.
pub(super) fn draw_masks(count: usize, product: u128, rng: &mut impl CryptoRng) -> Vec<u128> {
    let bits = u128::BITS - product.leading_zeros();
    let mut draw = || loop {
        let wide = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let word = wide & ((1 << bits) - 1);
        if word < product {
            return word;
        }
    };
    (0..count).map(|_| draw()).collect()
}

fn split_seed(message: &[u8]) -> (Seed, &[u8]) {
    let (head, rest) = message.split_at(SEED_BYTES);
    let mut seed = Seed::default();
    seed.copy_from_slice(head);
    (seed, rest)
}

//! The server's side: products with its matrix.

use crate::LatticeError;
use crate::basis::Basis;
use crate::bitstream::write;
use crate::client::ClientKeys;
use crate::fraction::RoundDown;
use crate::keys::{SetKeys, read_residues, read_set, set_bytes};
use crate::pack::Packed;
use crate::parallel::in_parallel;
use crate::parameters::{LARGE, SMALL, Set};
use crate::product::RowTile;
use crate::sample::{SEED_BYTES, Seed, expand, fork, seed};
use crate::shape::ProductShape;
use crate::slots::{self, SlotKeys};
use crate::taps::Ciphertext;
use crate::weights::Weights;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, RngCore, SeedableRng};
use std::num::NonZeroUsize;

/// What the server holds of one client.
pub struct ServerKeys {
    small: SetKeys,
    large: SetKeys,
    slots: Vec<SlotKeys>,
    threads: NonZeroUsize,
}

impl ServerKeys {
    /// Reads the client's key message.
    pub fn parse(bytes: &[u8]) -> Result<Self, LatticeError> {
        let expected = ClientKeys::public_bytes();
        if bytes.len() != expected {
            return Err(LatticeError::Length { what: "key message", expected, got: bytes.len() });
        }
        let mut rest = bytes;
        let mut part = |length: usize| {
            let (head, tail) = rest.split_at(length);
            rest = tail;
            head
        };
        let basis = |set: Set| Basis::new(set.dimension, set.primes);
        let small = read_set(basis(SMALL), part(set_bytes(SMALL)))?;
        let large = read_set(basis(LARGE), part(set_bytes(LARGE)))?;
        let keys = slots::SETS.iter().map(|set| SlotKeys::parse(set, part(set.key_bytes())));
        Ok(Self {
            small,
            large,
            slots: keys.collect::<Result<_, _>>()?,
            threads: NonZeroUsize::MIN,
        })
    }

    /// The reply to a request, and the server's share (rows x cols): uniform, whatever the request was.
    pub fn reply(
        &self,
        shape: &ProductShape,
        request: &[u8],
        weights: Weights<'_>,
        rng: &mut impl CryptoRng,
    ) -> Result<(Vec<u8>, Vec<u64>), LatticeError> {
        weights.check(shape)?;
        let keys = self.set(shape);
        let tiles = read_request(&keys.basis.first(shape.parameters.primes), shape, request)?;
        let mut rng = fork(rng);
        let ring = shape.ring();
        let share: Vec<u64> =
            (0..shape.rows() * shape.cols()).map(|_| ring.reduce(rng.next_u64())).collect();
        let mut message = Vec::with_capacity(shape.reply_bytes());
        let mut bodies = vec![0u128; share.len()];
        for (row_tile, tiles) in tiles.chunks(shape.tiling.inner_tiles()).enumerate() {
            let tile = RowTile::new(keys, shape, weights, row_tile, tiles);
            let packs: Vec<_> = (0..shape.tiling.packs()).map(|p| (p, seed(&mut rng))).collect();
            let rounded = in_parallel(self.threads, &packs, |&(pack, seed)| {
                let mut rng = ChaCha20Rng::from_seed(seed);
                let (basis, packed) = tile.pack(pack, &share, &mut rng);
                round(shape, &basis, &packed, shape.tiling.entries(row_tile, pack))
            });
            for (half, entries) in rounded {
                message.extend_from_slice(&half);
                entries.into_iter().for_each(|(entry, body)| bodies[entry] = body);
            }
        }
        write(&mut message, shape.body_bits(), bodies);
        Ok((message, share))
    }

    /// Lets [`Self::reply`] use more than one thread.
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    pub(crate) fn slots(&self) -> &[SlotKeys] {
        &self.slots
    }

    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    pub(crate) fn set(&self, shape: &ProductShape) -> &SetKeys {
        if shape.parameters.set == SMALL { &self.small } else { &self.large }
    }
}

/// A reply ciphertext's random half as bytes, and its bodies by entry.
fn round(
    shape: &ProductShape,
    basis: &Basis,
    packed: &Packed,
    entries: impl Iterator<Item = (usize, usize)>,
) -> (Vec<u8>, Vec<(usize, u128)>) {
    let (round, bits) = (RoundDown::new(basis), shape.random_half_bits());
    let mut half = Vec::with_capacity(shape.random_half_bytes());
    let words = (0..basis.dimension()).map(|x| round.coefficient(&packed.random, x, bits));
    write(&mut half, bits, words);
    let body = |x| round.coefficient(&packed.body, x, shape.body_bits());
    (half, entries.map(|(entry, position)| (entry, body(position))).collect())
}

/// The request's ciphertexts: row tile by row tile, within one the inner tiles.
pub(crate) fn read_request(
    basis: &Basis,
    shape: &ProductShape,
    request: &[u8],
) -> Result<Vec<Ciphertext>, LatticeError> {
    let expected = shape.request_bytes();
    if request.len() != expected {
        return Err(LatticeError::Length { what: "request", expected, got: request.len() });
    }
    let (seed_bytes, bodies) = request.split_at(SEED_BYTES);
    let mut seed = Seed::default();
    seed.copy_from_slice(seed_bytes);
    let bodies = bodies.chunks_exact(shape.request_ciphertext_bytes()).enumerate();
    bodies
        .map(|(stream, body)| {
            let body = read_residues(basis, body, "request")?;
            Ok(Ciphertext { body, random: expand(basis, seed, stream as u64) })
        })
        .collect()
}

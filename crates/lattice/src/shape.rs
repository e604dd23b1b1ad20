//! The public shape of one product: sizes, ring, parameters, message lengths.

use crate::LatticeError;
use crate::bitstream::stream_bytes;
use crate::modulus::RESIDUE_BITS;
use crate::parameters::{BODY_GUARD_BITS, Parameters, RANDOM_HALF_GUARD_BITS};
use crate::sample::SEED_BYTES;
use crate::tiling::Tiling;
use degreespar_ring::Ring;

const LEAST_RING_BITS: u32 = 8;
const MOST_SIDE: usize = 1 << 24;
const MOST_ENTRIES: usize = 1 << 30;

/// What the server's matrix holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WeightKind {
    /// Signed 16-bit integers.
    Narrow,
    /// Any ring elements.
    Wide,
}

/// One product: `rows` x `inner` (client) times `inner` x `cols` (server).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductShape {
    rows: usize,
    inner: usize,
    cols: usize,
    ring: Ring,
    weight: WeightKind,
    pub(crate) parameters: Parameters,
    pub(crate) tiling: Tiling,
}

impl ProductShape {
    /// Chooses the parameters; refuses empty or outsized products, and what no parameter set hides.
    pub fn new(
        rows: usize,
        inner: usize,
        cols: usize,
        ring: Ring,
        weight: WeightKind,
    ) -> Result<Self, LatticeError> {
        let sides = [rows, inner, cols];
        if sides.contains(&0) {
            return Err(LatticeError::Empty);
        }
        let outsized = |a: usize, b: usize| a.saturating_mul(b) > MOST_ENTRIES;
        if sides.iter().any(|&side| side > MOST_SIDE)
            || outsized(rows, inner)
            || outsized(inner, cols)
            || outsized(rows, cols)
        {
            return Err(LatticeError::TooLarge { rows, inner, cols });
        }
        let bits = ring.bits();
        if bits < LEAST_RING_BITS {
            return Err(LatticeError::Width(bits));
        }
        let tile = |parameters| (parameters, Tiling::new(&parameters, rows, inner, cols));
        let (parameters, tiling) = Parameters::candidates(bits)
            .map(tile)
            .find(|(parameters, tiling)| parameters.hides(weight.bits(ring), tiling.terms()))
            .ok_or(LatticeError::NoParameters { bits, inner })?;
        Ok(Self { rows, inner, cols, ring, weight, parameters, tiling })
    }

    /// Rows of the client's matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the client's matrix, rows of the server's.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// Columns of the server's matrix.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The ring of the product.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// What the server's matrix holds.
    pub fn weight(&self) -> WeightKind {
        self.weight
    }

    /// Exact length of the client's message.
    pub fn request_bytes(&self) -> usize {
        let ciphertexts = self.tiling.row_tiles() * self.tiling.inner_tiles();
        SEED_BYTES + ciphertexts * self.request_ciphertext_bytes()
    }

    /// Exact length of the server's message.
    pub fn reply_bytes(&self) -> usize {
        self.reply_ciphertexts() * self.random_half_bytes() + self.bodies_bytes()
    }

    pub(crate) fn request_ciphertext_bytes(&self) -> usize {
        stream_bytes(self.parameters.set.dimension * self.parameters.primes, RESIDUE_BITS)
    }

    pub(crate) fn reply_ciphertexts(&self) -> usize {
        self.tiling.row_tiles() * self.tiling.packs()
    }

    pub(crate) fn random_half_bytes(&self) -> usize {
        stream_bytes(self.parameters.set.dimension, self.random_half_bits())
    }

    pub(crate) fn bodies_bytes(&self) -> usize {
        stream_bytes(self.rows * self.cols, self.body_bits())
    }

    /// Bits to which the half under the secret is rounded in a reply.
    pub(crate) fn random_half_bits(&self) -> u32 {
        self.ring.bits() + RANDOM_HALF_GUARD_BITS
    }

    /// Bits to which the half with the message is rounded in a reply.
    pub(crate) fn body_bits(&self) -> u32 {
        self.ring.bits() + BODY_GUARD_BITS
    }
}

impl WeightKind {
    /// Bits of a signed weight.
    pub(crate) fn bits(self, ring: Ring) -> u32 {
        match self {
            Self::Narrow => 16,
            Self::Wide => ring.bits(),
        }
    }
}

//! What a step needs to have prepared, as public data.

use crate::WeightId;
use crate::halves::Halves;
use degreespar_link::Party;
use degreespar_ring::Ring;

/// A batch of correlated randomness that one step uses up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Random OTs of 64-bit words.
    Ots {
        /// Who holds both words.
        sender: Party,
        /// How many.
        count: usize,
    },
    /// Random OTs of 128-bit seeds, each to be stretched once.
    Seeds {
        /// Who holds both seeds.
        sender: Party,
        /// How many words a seed is stretched to.
        width: usize,
        /// How many.
        count: usize,
    },
    /// Random 1-of-16 OTs, one for every digit of `count` numbers, with two bits per threshold.
    Leaves {
        /// Who holds the tables.
        sender: Party,
        /// Width of the numbers.
        value_bits: u32,
        /// Thresholds that share the choice; at most [`Need::LEAF_THRESHOLDS`].
        thresholds: usize,
        /// How many numbers.
        count: usize,
    },
    /// Shared bits a and shared 2-bit b with shared a * b.
    AndPairs {
        /// How many batches.
        batches: usize,
        /// How many in each batch.
        count: usize,
    },
    /// Shared a with shared a^2.
    SquarePairs {
        /// Where they live.
        ring: Ring,
        /// How many.
        count: usize,
    },
    /// The server's random s and the client's random r, integers in [-2^(b-1), 2^(b-1)), with shared s * r.
    CrossPairs {
        /// b bits: what the factors are modulo.
        factor: Ring,
        /// Where the shares live.
        product: Ring,
        /// How many.
        count: usize,
    },
    /// Shared a and b with shared a * b.
    Triples {
        /// Where they live.
        ring: Ring,
        /// How many.
        count: usize,
    },
    /// The client's random R with shared R * W, for the server's weights W.
    Linear {
        /// W.
        weight: WeightId,
        /// Where they live.
        ring: Ring,
        /// Rows of R.
        rows: usize,
        /// Columns of R, rows of W.
        inner: usize,
        /// Columns of W.
        cols: usize,
    },
    /// Shared matrices A and B with shared A * B.
    MatrixTriple {
        /// Where they live.
        ring: Ring,
        /// How many triples.
        batch: usize,
        /// Rows of A.
        rows: usize,
        /// Columns of A, rows of B.
        inner: usize,
        /// Columns of B.
        cols: usize,
    },
}

/// COTs, by who sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CotCount {
    /// COTs in which the server is the sender.
    pub server_sends: usize,
    /// COTs in which the client is the sender.
    pub client_sends: usize,
}

impl CotCount {
    /// COTs in which `sender` is the sender.
    pub fn sent_by(self, sender: Party) -> usize {
        if sender.is_server() { self.server_sends } else { self.client_sends }
    }

    /// Both directions together.
    pub fn total(self) -> usize {
        self.server_sends + self.client_sends
    }

    fn one_way(sender: Party, count: usize) -> Self {
        match sender {
            Party::Server => Self { server_sends: count, client_sends: 0 },
            Party::Client => Self { server_sends: 0, client_sends: count },
        }
    }

    /// `each` for every one of `count` elements whose halves swap roles.
    fn in_halves(count: usize, each: u32) -> Self {
        let sent_by = |party| Halves::of(count).sent_by(party) * each as usize;
        Self { server_sends: sent_by(Party::Server), client_sends: sent_by(Party::Client) }
    }

    fn both_ways(count: usize) -> Self {
        Self { server_sends: count, client_sends: count }
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        Self {
            server_sends: self.server_sends + other.server_sends,
            client_sends: self.client_sends + other.client_sends,
        }
    }
}

impl Need {
    /// Most thresholds of one [`Need::Leaves`]: a 128-bit hash holds eight 16-bit lanes, two per threshold.
    pub const LEAF_THRESHOLDS: usize = 4;

    /// Whether it is one of pairs, cross pairs or triples, which have two ways to be made.
    pub(crate) fn is_pairs(&self) -> bool {
        matches!(self, Self::SquarePairs { .. } | Self::CrossPairs { .. } | Self::Triples { .. })
    }

    /// The COTs that it is made of; of pairs and triples: unless ciphertexts make it.
    pub fn cots(&self) -> CotCount {
        match *self {
            Self::Ots { sender, count } | Self::Seeds { sender, count, .. } => {
                CotCount::one_way(sender, count)
            }
            Self::Leaves { sender, value_bits, count, .. } => {
                CotCount::one_way(sender, value_bits as usize * count)
            }
            Self::AndPairs { batches, count } => CotCount::both_ways(batches * count),
            Self::SquarePairs { ring, count } => CotCount::in_halves(count, ring.bits() - 1),
            Self::CrossPairs { factor, count, .. } => CotCount::in_halves(count, factor.bits()),
            Self::Triples { ring, count } => CotCount::both_ways(ring.bits() as usize * count),
            Self::Linear { .. } | Self::MatrixTriple { .. } => CotCount::default(),
        }
    }

    /// The word for it in messages to people.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ots { .. } => "random OT batch",
            Self::Seeds { .. } => "seed OT batch",
            Self::Leaves { .. } => "comparison leaf batch",
            Self::AndPairs { .. } => "AND pair batch",
            Self::SquarePairs { .. } => "square pair batch",
            Self::CrossPairs { .. } => "cross pair batch",
            Self::Triples { .. } => "product triple batch",
            Self::Linear { .. } => "linear correlation",
            Self::MatrixTriple { .. } => "matrix triple",
        }
    }
}

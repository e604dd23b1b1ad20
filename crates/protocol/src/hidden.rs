//! Products of a client's matrix with a server's, hidden from both: what the lattice layer provides.

use crate::ProtocolError;
use degreespar_lattice::{ClientKeys, ProductShape, ServerKeys, SlotShape, Weights};
use degreespar_link::{Channel, Direction, Party, Schedule};
use degreespar_ot::Prg;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::num::NonZeroUsize;

const KEYS: &str = "hidden.keys";

/// F_hidden: the client's L (rows x inner) and the server's W (inner x cols) -> additive shares of L * W mod 2^b, exact.
/// Nobody learns anything else. One request, one reply, of the sizes that the shape says; keys are set up before.
pub trait HiddenProducts: Send {
    /// Client: the request for the matrix `left`.
    fn request(
        &mut self,
        shape: &ProductShape,
        left: &[u64],
        prg: &mut Prg,
    ) -> Result<Vec<u8>, ProtocolError>;

    /// Server: the reply and its own share.
    fn reply(
        &mut self,
        shape: &ProductShape,
        request: &[u8],
        weights: Weights<'_>,
        prg: &mut Prg,
    ) -> Result<(Vec<u8>, Vec<u64>), ProtocolError>;

    /// Client: its share.
    fn finish(&mut self, shape: &ProductShape, reply: &[u8]) -> Result<Vec<u64>, ProtocolError>;

    /// F_hidden for sums of entry-wise products, the client's vectors with the server's. Client: the request.
    fn request_slots(
        &mut self,
        shape: &SlotShape,
        vectors: &[&[u64]],
        prg: &mut Prg,
    ) -> Result<Vec<u8>, ProtocolError>;

    /// Server: the reply and its own share.
    fn reply_slots(
        &mut self,
        shape: &SlotShape,
        request: &[u8],
        vectors: &[&[u64]],
        prg: &mut Prg,
    ) -> Result<(Vec<u8>, Vec<u64>), ProtocolError>;

    /// Client: its share.
    fn finish_slots(&mut self, shape: &SlotShape, reply: &[u8]) -> Result<Vec<u64>, ProtocolError>;
}

/// Hidden products by lattice encryption: this party's keys.
pub enum LatticeProducts {
    /// The client's secret keys.
    Client(Box<ClientKeys>),
    /// What the server holds of the client.
    Server(Box<ServerKeys>),
}

impl LatticeProducts {
    /// Makes the client's keys and hands the public part to the server. One message.
    pub fn setup(channel: &mut Channel, prg: &mut Prg) -> Result<Self, ProtocolError> {
        match channel.party() {
            Party::Client => {
                let (keys, message) = ClientKeys::generate(&mut generator(prg));
                channel.send(KEYS, message)?;
                Ok(Self::Client(Box::new(keys.with_threads(threads()))))
            }
            Party::Server => {
                let message = channel.receive(KEYS, ClientKeys::public_bytes())?;
                Ok(Self::Server(Box::new(ServerKeys::parse(&message)?.with_threads(threads()))))
            }
        }
    }

    /// The messages of [`LatticeProducts::setup`].
    pub fn setup_schedule() -> Schedule {
        Schedule::default().message(Direction::ToServer, KEYS, ClientKeys::public_bytes())
    }

    fn client(&self) -> Result<&ClientKeys, ProtocolError> {
        match self {
            Self::Client(keys) => Ok(keys),
            Self::Server(_) => Err(wrong_party()),
        }
    }

    fn server(&self) -> Result<&ServerKeys, ProtocolError> {
        match self {
            Self::Server(keys) => Ok(keys),
            Self::Client(_) => Err(wrong_party()),
        }
    }
}

impl HiddenProducts for LatticeProducts {
    fn request(
        &mut self,
        shape: &ProductShape,
        left: &[u64],
        prg: &mut Prg,
    ) -> Result<Vec<u8>, ProtocolError> {
        let entries = shape.rows() * shape.inner();
        crate::error::check_length("the left matrix of a hidden product", entries, left.len())?;
        Ok(self.client()?.request(shape, left, &mut generator(prg)))
    }

    fn reply(
        &mut self,
        shape: &ProductShape,
        request: &[u8],
        weights: Weights<'_>,
        prg: &mut Prg,
    ) -> Result<(Vec<u8>, Vec<u64>), ProtocolError> {
        Ok(self.server()?.reply(shape, request, weights, &mut generator(prg))?)
    }

    fn finish(&mut self, shape: &ProductShape, reply: &[u8]) -> Result<Vec<u64>, ProtocolError> {
        Ok(self.client()?.finish(shape, reply)?)
    }

    fn request_slots(
        &mut self,
        shape: &SlotShape,
        vectors: &[&[u64]],
        prg: &mut Prg,
    ) -> Result<Vec<u8>, ProtocolError> {
        Ok(self.client()?.request_slots(shape, vectors, &mut generator(prg)))
    }

    fn reply_slots(
        &mut self,
        shape: &SlotShape,
        request: &[u8],
        vectors: &[&[u64]],
        prg: &mut Prg,
    ) -> Result<(Vec<u8>, Vec<u64>), ProtocolError> {
        Ok(self.server()?.reply_slots(shape, request, vectors, &mut generator(prg))?)
    }

    fn finish_slots(&mut self, shape: &SlotShape, reply: &[u8]) -> Result<Vec<u64>, ProtocolError> {
        Ok(self.client()?.finish_slots(shape, reply)?)
    }
}

/// As many as there are cores: products are most of a preparation's work.
fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn generator(prg: &mut Prg) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(prg.seed())
}

fn wrong_party() -> ProtocolError {
    ProtocolError::Unsupported("a hidden product's other party's part".into())
}

//! What can go wrong in a protocol.

use degreespar_lattice::LatticeError;
use degreespar_link::LinkError;
use degreespar_ot::OtError;
use degreespar_ring::RingError;

/// Why a protocol stopped.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The connection failed or the peer broke the protocol.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Oblivious transfer failed.
    #[error(transparent)]
    Ot(#[from] OtError),
    /// A packed vector was malformed.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A hidden matrix product was refused.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// Nothing of this kind is prepared.
    #[error("no {0} is prepared for this step")]
    Exhausted(&'static str),
    /// The next prepared correlation belongs to another step.
    #[error("the next prepared {kind} is for {prepared}, but this step asks for {asked}")]
    Mismatch {
        /// The kind of correlation.
        kind: &'static str,
        /// What lies next in the store.
        prepared: String,
        /// What the step asks for.
        asked: String,
    },
    /// A window ended before all that was prepared for it was used.
    #[error("{0} prepared batches of a window were not used")]
    Unused(usize),
    /// The operating system gives no thread for the preparation.
    #[error("cannot start the preparation: {0}")]
    Thread(std::io::Error),
    /// An argument has another length than the shape says.
    #[error("{what} has {got} elements, its shape says {expected}")]
    Length {
        /// The argument.
        what: &'static str,
        /// What the shape says.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// The primitive does not exist for these public parameters.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A weight matrix that this party does not know, or of another shape.
    #[error("weight {id}: {why}")]
    Weight {
        /// Its number.
        id: u32,
        /// What is wrong.
        why: String,
    },
}

/// An error unless `got` is `expected`.
pub(crate) fn check_length(
    what: &'static str,
    expected: usize,
    got: usize,
) -> Result<(), ProtocolError> {
    if got == expected { Ok(()) } else { Err(ProtocolError::Length { what, expected, got }) }
}

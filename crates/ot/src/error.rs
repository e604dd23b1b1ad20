//! What can go wrong while OTs are made.

use degreespar_link::LinkError;
use degreespar_ring::RingError;

/// Why OTs could not be made or handed out.
#[derive(Debug, thiserror::Error)]
pub enum OtError {
    /// The connection failed or the peer broke the protocol.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A packed vector of the peer's was malformed.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// More COTs were asked for than were prepared.
    #[error("asked for {wanted} OTs where {left} are left")]
    Exhausted {
        /// How many were asked for.
        wanted: usize,
        /// How many there are.
        left: usize,
    },
    /// What should be a point of the base OTs' curve is none, or the neutral one.
    #[error("the peer sent no valid curve point for the base OTs")]
    Point,
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    Randomness(String),
}

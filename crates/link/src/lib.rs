//! The connection between the two parties: a [`Link`] of two streams, one `Channel` each, over any `Transport`.
//!
//! A protocol sees only [`Channel`]: labelled messages of known size, metered, with a deadline on every wait.
//! Transports: [`memory`] (tests and simulation), [`tls`] (TCP, encrypted, mutually authenticated), and either of
//! them [`shaped`] (rate and delay).

mod channel;
mod chunk;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod link;
pub mod memory;
mod meter;
pub mod mux;
mod party;
mod schedule;
pub mod shaped;
pub mod tls;
mod transport;
mod walk;
mod wire;

pub use channel::Channel;
pub use chunk::{Chunk, Stream};
pub use error::{ConnectError, IdentityError, LineError, LinkError};
pub use link::Link;
pub use meter::{LabelTraffic, Meter};
pub use party::{Direction, Party};
pub use schedule::{Event, Schedule};
pub use transport::{Closer, Duplex, Frame, Inbox, Outbox, Streams, Transport};
pub use walk::DepthWalk;

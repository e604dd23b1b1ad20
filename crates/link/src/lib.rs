//! The connection between the two parties: one `Channel` per logical stream, over any `Transport`.
//!
//! A protocol sees only [`Channel`]: labelled messages of known size, metered, with a deadline on every wait.
//! Transports: [`memory`] (tests and simulation), [`tls`] (TCP, encrypted, mutually authenticated), and either of
//! them [`shaped`] (rate and delay).

mod channel;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod memory;
mod meter;
mod party;
mod schedule;
pub mod shaped;
pub mod tls;
mod transport;
mod walk;
mod wire;

pub use channel::Channel;
pub use error::{ConnectError, IdentityError, LinkError};
pub use meter::{LabelTraffic, Meter};
pub use party::{Direction, Party};
pub use schedule::{Event, Schedule};
pub use transport::{Duplex, Frame, Inbox, Outbox, Transport};
pub use walk::DepthWalk;

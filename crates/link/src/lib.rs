//! The connection between the two parties: one `Channel` per logical stream, over any `Transport`.
//!
//! A protocol sees only [`Channel`]: labelled messages of known size, metered, with a deadline on every wait.
//! Transports: [`memory`] (tests and simulation), TCP with mutual TLS, a shaped wrapper (rate and delay).

mod channel;
mod error;
pub mod memory;
mod meter;
mod party;
mod schedule;
mod transport;

pub use channel::Channel;
pub use error::LinkError;
pub use meter::{LabelTraffic, Meter};
pub use party::{Direction, Party};
pub use schedule::{Event, Schedule};
pub use transport::{Frame, Transport};

//! Oblivious transfer: from a network to correlated OTs (COTs) in bulk.
//!
//! A COT: the sender holds delta and w, the receiver a random bit u and v = w ^ u * delta, all 128-bit blocks. Every
//! stored correlation of `protocol` is made from COTs by hashing ([`hash`]).

mod cot;
mod error;
pub mod hash;
#[cfg(any(test, feature = "ideal"))]
pub mod ideal;
mod prg;

pub use cot::{ReceiverCots, SenderCots};
pub use error::OtError;
pub use prg::Prg;

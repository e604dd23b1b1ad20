//! Oblivious transfer: from a network to correlated OTs (COTs) in bulk.
//!
//! A COT: the sender holds delta and w, the receiver a random bit u and v = w ^ u * delta, all 128-bit blocks. Every
//! stored correlation of `protocol` is made from COTs by hashing ([`hash`]).
//!
//! [`OtFactory`] makes them: `base` OTs once, `iknp` for the first COTs, then silent batches (`batch`: `tree` and
//! `code`), each of which also feeds the next; `plan` says how many of which size.

mod base;
mod batch;
mod code;
mod cot;
mod crew;
mod error;
mod factory;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod hash;
#[cfg(any(test, feature = "ideal"))]
pub mod ideal;
mod iknp;
mod plan;
mod prg;
mod reserves;
mod tree;
#[cfg(target_arch = "x86_64")]
mod vaes;

pub use cot::{ReceiverCots, SenderCots};
pub use error::OtError;
pub use factory::{Cots, OtFactory};
pub use prg::Prg;
pub use reserves::{OtGeneration, OtReserves};

const TREES_LABEL: &str = "ot trees";

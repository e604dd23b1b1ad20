//! Matrix products on ciphertexts: from a client's matrix and a server's to additive shares of their product.
//!
//! F_product: the client holds R (rows x inner, mod 2^l), the server W (inner x cols; [`Weights`]). Each gets one
//! additive share of R*W mod 2^l, exact. Semi-honest; the client learns nothing about W, the server nothing about R.
//!
//! 1. Client, once: secret keys, and in [`ClientKeys::generate`]'s message encryptions of zero (public keys) and
//!    automorphism keys. The server reads them with [`ServerKeys::parse`].
//! 2. Client, [`ClientKeys::request`]: R in coefficient-packed tiles (Huang, Lu, Hong, Ding: Cheetah, USENIX Security
//!    2022, section 3), encrypted symmetrically, the random half as a seed.
//! 3. Server, [`ServerKeys::reply`]: multiplies by W in the coefficient domain, adds a fresh encryption of zero, a random
//!    share and a flood to each result, packs (Chen, Dai, Kim, Song, ACNS 2021) and rounds.
//! 4. Client, [`ClientKeys::finish`]: decrypts its share.
//!
//! Bytes in, bytes out: nothing here talks to a peer. Parameters, noise and what hides what: docs/security-lattice.md.

mod basis;
mod bitstream;
mod client;
mod encrypt;
mod error;
mod fraction;
mod kernel;
mod keys;
mod modulus;
mod pack;
mod parallel;
mod parameters;
mod product;
mod sample;
mod server;
mod shape;
mod slots;
mod taps;
#[cfg(test)]
mod tests;
mod tiling;
mod weights;
mod work;

pub use client::ClientKeys;
pub use error::LatticeError;
pub use server::ServerKeys;
pub use shape::{ProductShape, WeightKind};
pub use slots::SlotShape;
pub use weights::Weights;
pub use work::{ProductWork, SlotWork};

//! Vectors modulo 2^b for any b from 1 to 64: arithmetic, dense packing, matrix product.
//!
//! Values live in `u64` words and are kept reduced; nothing here talks to a peer or knows of shares.

mod bits;
mod matrix;
mod pack;
mod value;

pub use bits::{pack_bits, packed_bits_bytes, unpack_bits};
pub use matrix::{matmul, matmul_narrow};
pub use pack::{pack, unpack};
pub use value::Ring;

/// What can be wrong with ring data that came from outside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The ring width is not between 1 and 64 bits.
    #[error("a ring has 1 to 64 bits, not {0}")]
    Width(u32),
    /// A packed vector has another length than its shape says.
    #[error("expected {expected} packed bytes, got {got}")]
    Length {
        /// What the shape asks for.
        expected: usize,
        /// What came.
        got: usize,
    },
}

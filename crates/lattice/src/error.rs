//! What can go wrong.

/// Why a shape, a message or a weight matrix was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LatticeError {
    /// A product without rows, inner terms or columns.
    #[error("a product needs at least one row, inner term and column")]
    Empty,
    /// A product beyond the size limit of one request.
    #[error("a product of {rows} x {inner} x {cols} is too large for one request")]
    TooLarge {
        /// Rows of the client's matrix.
        rows: usize,
        /// The shared side.
        inner: usize,
        /// Columns of the server's matrix.
        cols: usize,
    },
    /// The ring is narrower than the protocol supports.
    #[error("a product needs a ring of 8 to 64 bits, not {0}")]
    Width(u32),
    /// No parameter set hides these weights with the declared margin.
    #[error("no parameter set hides products of {inner} terms modulo 2^{bits}")]
    NoParameters {
        /// The ring's width.
        bits: u32,
        /// Terms per inner product.
        inner: usize,
    },
    /// A message has another length than the shape says.
    #[error("the {what} should have {expected} bytes, got {got}")]
    Length {
        /// Which message.
        what: &'static str,
        /// What the shape asks for.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// A message holds a word that is no residue of its prime.
    #[error("the {0} holds a word that is no residue")]
    Residue(&'static str),
    /// The weights have another kind or length than the shape says.
    #[error("the weights do not match the product's shape")]
    Weights,
}

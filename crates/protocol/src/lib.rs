//! The primitives of secure two-party inference on additive shares, one module each.
//!
//! Every primitive is a small struct of its public shape. From it follow what must be prepared ([`Primitive::needs`]),
//! the exact messages ([`Primitive::schedule`]) and `run`, which plays one party. Both parties are semi-honest.
//!
//! Values x are shared as x = x_0 + x_1 mod 2^b (server's and client's share), bits by xor, one byte each. "Bounded"
//! values obey the headroom rule |x| < 2^(b-2). All correlations are made beforehand by [`prepare()`].

mod and;
mod bit_product;
mod bits;
mod compare;
mod context;
mod convert;
mod correlation;
mod cots;
mod error;
mod extend_all;
mod extend_square;
mod forecast;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gilboa;
mod halves;
mod hidden;
#[cfg(any(test, feature = "fuzzing"))]
mod ideal;
mod inverse;
mod linear;
mod local;
mod matmul;
mod matrix_needs;
mod max;
mod mux;
mod mux_rows;
mod need;
mod pairs;
mod piecewise;
mod pipeline;
mod plan;
mod prepare;
mod preparer;
mod product;
mod rescale;
mod reveal;
mod rounds;
mod session;
mod small;
mod square;
mod store;
#[cfg(test)]
mod tests;
mod to_arithmetic;
mod weight;
mod wire;
mod work;

pub use compare::LessThan;
pub use context::Context;
pub use cots::{CotSource, OtSupply};
pub use error::ProtocolError;
pub use extend_all::ExtendAll;
pub use extend_square::ExtendSquare;
pub use forecast::{Declared, Forecast, Stage};
pub use hidden::{HiddenProducts, LatticeProducts};
pub use inverse::{AffineGuess, Inverse};
pub use linear::Linear;
pub use local::{add_public, drop_low, narrow};
pub use matmul::MatMul;
pub use max::Max;
pub use mux::Mux;
pub use mux_rows::MuxRows;
pub use need::{CotCount, Need};
pub use piecewise::{Piecewise, Quadratic};
pub use plan::{Plan, Primitive};
pub use prepare::{cot_count, prepare, prepare_schedule};
pub use preparer::{PrepareCost, Prepared, Preparer};
pub use product::Product;
pub use rescale::{Extend, Rescale, Truncate};
pub use reveal::Reveal;
pub use session::Session;
pub use square::Square;
pub use store::Store;
pub use to_arithmetic::ToArithmetic;
pub use weight::{WeightId, WeightTable};
pub use work::Work;

//! Every primitive, both parties in two threads, against plain integers.
//!
//! The layers below are ideal here (a COT dealer, products in the clear); `real.rs` runs over the real ones.

mod composite;
mod correlations;
mod elementwise;
mod every_width;
mod failures;
mod harness;
mod kills;
mod matrices;
mod privacy;
mod real;
mod windows;

//! What a peer can throw at us, for tests only: fuzz targets, a peer that tampers, and a meter of memory.
//!
//! The targets run in two ways: `make fuzz SECONDS=...` searches with coverage (libFuzzer, in `fuzz/`), and the tests of
//! this crate pass a fixed set of inputs through each on every `make test`.

pub mod inputs;
pub mod memory;
pub mod program;
pub mod tamper;
pub mod tap;
pub mod targets;

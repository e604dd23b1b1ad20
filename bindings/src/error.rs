//! Every failure of the core is one Python exception with one sentence.

use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyException};
use std::fmt::Display;

create_exception!(_native, NativeError, PyException, "What the peer or a protocol did wrong.");

/// The exception for an error of the core.
pub fn raise(error: impl Display) -> PyErr {
    NativeError::new_err(error.to_string())
}

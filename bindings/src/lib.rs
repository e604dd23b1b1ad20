//! The native core as a Python module: conversions and nothing else.

mod connection;
mod error;
mod forecast;
mod inverse;
mod plan;
mod session;
mod words;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeError", module.py().get_type::<error::NativeError>())?;
    module.add_class::<connection::Identity>()?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<connection::Listener>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<forecast::Forecast>()?;
    module.add_class::<forecast::Declared>()?;
    module.add_function(wrap_pyfunction!(connection::connect, module)?)?;
    module.add_function(wrap_pyfunction!(connection::memory_pair, module)?)?;
    module.add_function(wrap_pyfunction!(connection::fingerprint_of_pem, module)?)
}

//! What a session will send and do, as Python sees it.

use crate::error::raise;
use crate::plan::Plan;
use degreespar_link::Direction;
use degreespar_protocol as protocol;
use pyo3::prelude::*;

/// Follows a session from its set-up on, phase by phase.
#[pyclass(module = "degreespar._native")]
pub struct Forecast {
    inner: protocol::Forecast,
}

/// One phase of one window.
#[pyclass(module = "degreespar._native", frozen)]
pub struct Declared {
    inner: protocol::Declared,
}

#[pymethods]
impl Forecast {
    #[new]
    fn new() -> Self {
        Self { inner: protocol::Forecast::after_setup() }
    }

    fn prepare(&mut self, plan: &Plan) -> PyResult<Declared> {
        let inner = self.inner.prepare(plan.inner.needs()).map_err(raise)?;
        Ok(Declared { inner })
    }

    fn begin_answer(&mut self) {
        self.inner.begin_answer();
    }

    fn answer(&mut self, plan: &Plan) -> Declared {
        Declared { inner: self.inner.answer(plan.inner.needs(), plan.inner.schedule()) }
    }
}

#[pymethods]
impl Declared {
    #[getter]
    fn to_client_bytes(&self) -> usize {
        self.inner.bytes(Direction::ToClient)
    }

    #[getter]
    fn to_server_bytes(&self) -> usize {
        self.inner.bytes(Direction::ToServer)
    }

    #[getter]
    fn server_flips(&self) -> u32 {
        self.inner.server_flips
    }

    #[getter]
    fn client_flips(&self) -> u32 {
        self.inner.client_flips
    }

    #[getter]
    fn stages(&self) -> Vec<(&'static str, usize, usize, protocol::Work)> {
        let stages = self.inner.stages.iter();
        stages.map(|s| (s.name, s.to_client_bytes, s.to_server_bytes, s.work.clone())).collect()
    }
}

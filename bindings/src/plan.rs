//! The demand of a window.

use crate::error::raise;
use crate::inverse::{InverseSpec, PiecewiseSpec};
use degreespar_link::{Direction, Event};
use degreespar_protocol as protocol;
use degreespar_protocol::{
    Extend, ExtendAll, ExtendSquare, LessThan, Linear, MatMul, Max, Mux, MuxRows, Need, Product,
    Reveal, Square, ToArithmetic,
};
use degreespar_ring::Ring;
use pyo3::prelude::*;

/// Correlations and messages from public shapes alone.
#[pyclass(module = "degreespar._native")]
#[derive(Default)]
pub struct Plan {
    /// What the session prepares.
    pub inner: protocol::Plan,
}

/// The ring of `bits`, or an exception.
pub fn ring(bits: u32) -> PyResult<Ring> {
    Ring::new(bits).map_err(raise)
}

/// Several extensions as one step: (bits, bits to have, count) each.
pub fn extend_all(parts: &[(u32, u32, usize)]) -> PyResult<ExtendAll> {
    let part = |&(from, to, count): &(u32, u32, usize)| {
        Ok(Extend { from: ring(from)?, to: ring(to)?, count })
    };
    Ok(ExtendAll { parts: parts.iter().map(part).collect::<PyResult<_>>()? })
}

/// A message's shape as Python sees it.
pub fn event(event: &Event) -> (&'static str, &'static str, usize) {
    let direction = match event.direction {
        Direction::ToClient => "to_client",
        Direction::ToServer => "to_server",
    };
    (direction, event.label, event.bytes)
}

#[pymethods]
impl Plan {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn extend(&mut self, bits: u32, to_bits: u32, count: usize) -> PyResult<()> {
        self.inner.add(&Extend { from: ring(bits)?, to: ring(to_bits)?, count });
        Ok(())
    }

    fn extend_all(&mut self, parts: Vec<(u32, u32, usize)>) -> PyResult<()> {
        self.inner.add(&extend_all(&parts)?);
        Ok(())
    }

    fn extend_square(
        &mut self,
        bits: u32,
        to_bits: u32,
        nonnegative: bool,
        count: usize,
    ) -> PyResult<()> {
        let (from, to) = (ring(bits)?, ring(to_bits)?);
        self.inner.add(&ExtendSquare { from, to, nonnegative, count });
        Ok(())
    }

    fn piecewise(&mut self, spec: PiecewiseSpec, count: usize) -> PyResult<()> {
        self.inner.add(&spec.step(count)?);
        Ok(())
    }

    fn less_than(&mut self, bits: u32, thresholds: Vec<i64>, count: usize) -> PyResult<()> {
        self.inner.add(&LessThan { ring: ring(bits)?, thresholds, count });
        Ok(())
    }

    fn mux(&mut self, bits: u32, count: usize) -> PyResult<()> {
        self.inner.add(&Mux { ring: ring(bits)?, count });
        Ok(())
    }

    fn mux_rows(&mut self, bits: u32, rows: usize, width: usize) -> PyResult<()> {
        self.inner.add(&MuxRows { ring: ring(bits)?, rows, width });
        Ok(())
    }

    fn arithmetic(&mut self, bits: u32, count: usize) -> PyResult<()> {
        self.inner.add(&ToArithmetic { ring: ring(bits)?, count });
        Ok(())
    }

    fn square(&mut self, bits: u32, count: usize) -> PyResult<()> {
        self.inner.add(&Square { ring: ring(bits)?, count });
        Ok(())
    }

    fn product(&mut self, bits: u32, count: usize) -> PyResult<()> {
        self.inner.add(&Product { ring: ring(bits)?, count });
        Ok(())
    }

    fn linear(
        &mut self,
        number: u32,
        bits: u32,
        rows: usize,
        inner: usize,
        cols: usize,
    ) -> PyResult<()> {
        self.inner.add(&Linear { weight: number, ring: ring(bits)?, rows, inner, cols });
        Ok(())
    }

    fn matmul(
        &mut self,
        bits: u32,
        batch: usize,
        rows: usize,
        inner: usize,
        cols: usize,
    ) -> PyResult<()> {
        self.inner.add(&MatMul { ring: ring(bits)?, batch, rows, inner, cols });
        Ok(())
    }

    fn maximum(&mut self, bits: u32, rows: usize, cols: usize) -> PyResult<()> {
        self.inner.add(&Max::new(ring(bits)?, rows, cols));
        Ok(())
    }

    fn inverse(&mut self, spec: InverseSpec, count: usize) -> PyResult<()> {
        self.inner.add(&spec.step(count)?);
        Ok(())
    }

    fn reveal(&mut self, bits: u32, count: usize) -> PyResult<()> {
        self.inner.add(&Reveal { ring: ring(bits)?, count });
        Ok(())
    }

    #[getter]
    fn bytes_to_client(&self) -> usize {
        self.inner.schedule().bytes(Direction::ToClient)
    }

    #[getter]
    fn bytes_to_server(&self) -> usize {
        self.inner.schedule().bytes(Direction::ToServer)
    }

    #[getter]
    fn flips(&self) -> u32 {
        self.inner.schedule().flips()
    }

    fn events(&self) -> Vec<(&'static str, &'static str, usize)> {
        self.inner.schedule().all_events().iter().map(event).collect()
    }

    fn correlations(&self) -> Vec<(&'static str, u32, Vec<usize>)> {
        self.inner.needs().iter().map(correlation).collect()
    }
}

/// Kind, width in bits and public shape.
fn correlation(need: &Need) -> (&'static str, u32, Vec<usize>) {
    let (bits, shape) = match *need {
        Need::Ots { count, .. } => (64, vec![count]),
        Need::Seeds { width, count, .. } => (128, vec![width, count]),
        Need::Leaves { value_bits, thresholds, count, .. } => {
            return (need.kind(), value_bits, vec![thresholds, count]);
        }
        Need::AndPairs { batches, count } => (1, vec![batches, count]),
        Need::SquarePairs { ring, count } | Need::Triples { ring, count } => {
            (ring.bits(), vec![count])
        }
        Need::CrossPairs { factor, product, count } => {
            return (need.kind(), factor.bits(), vec![product.bits() as usize, count]);
        }
        Need::Linear { ring, rows, inner, cols, .. } => (ring.bits(), vec![rows, inner, cols]),
        Need::MatrixTriple { ring, batch, rows, inner, cols } => {
            (ring.bits(), vec![batch, rows, inner, cols])
        }
    };
    (need.kind(), bits, shape)
}

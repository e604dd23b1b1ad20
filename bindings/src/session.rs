//! One party's side of a run.

use crate::connection::Connection;
use crate::error::raise;
use crate::inverse::InverseSpec;
use crate::plan::{Plan, event, ring};
use crate::words::{Array, axes, flat, shaped};
use degreespar_link::Direction;
use degreespar_protocol as protocol;
use degreespar_protocol::{
    Context, Extend, LessThan, Linear, MatMul, Max, Mux, MuxRows, Product, ProtocolError, Reveal,
    Square, ToArithmetic,
};
use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

type Words<'py> = Bound<'py, PyArrayDyn<u64>>;
type Bits<'py> = Bound<'py, PyArrayDyn<u8>>;

/// Set-up, prepare, answer.
#[pyclass(module = "degreespar._native", frozen)]
pub struct Session {
    inner: Mutex<protocol::Session>,
    party: degreespar_link::Party,
    /// (inner, cols) of the weight matrices.
    shapes: Mutex<HashMap<u32, (usize, usize)>>,
}

impl Session {
    fn lock(&self) -> PyResult<MutexGuard<'_, protocol::Session>> {
        self.inner.lock().map_err(|_| raise("the session broke in another thread"))
    }

    /// Runs a step without holding the interpreter.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut Context<'_>) -> Result<T, ProtocolError> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.lock()?.run(step).map_err(raise))
    }

    fn note_shape(&self, number: u32, inner: usize, cols: usize) -> PyResult<()> {
        let mut shapes = self.shapes.lock().map_err(raise)?;
        shapes.insert(number, (inner, cols));
        Ok(())
    }
}

#[pymethods]
impl Session {
    #[new]
    fn new(py: Python<'_>, connection: &Connection) -> PyResult<Self> {
        let channel = connection.take()?;
        let inner = py.detach(|| protocol::Session::new(*channel)).map_err(raise)?;
        let party = inner.party();
        Ok(Self { inner: Mutex::new(inner), party, shapes: Mutex::default() })
    }

    #[getter]
    fn is_server(&self) -> bool {
        self.party.is_server()
    }

    fn load_weight(&self, number: u32, matrix: Array<'_, i16>) -> PyResult<()> {
        let [inner, cols] = axes(&matrix)?;
        self.note_shape(number, inner, cols)?;
        self.lock()?.load_weight(number, inner, cols, flat(&matrix).into()).map_err(raise)
    }

    fn declare_weight(&self, number: u32, inner: usize, cols: usize) -> PyResult<()> {
        self.note_shape(number, inner, cols)?;
        self.lock()?.declare_weight(number, inner, cols).map_err(raise)
    }

    fn prepare(&self, py: Python<'_>, plan: &Plan) -> PyResult<()> {
        let needs = plan.inner.needs();
        py.detach(|| self.lock()?.prepare(needs).map_err(raise))
    }

    fn prepare_cost(&self, plan: &Plan) -> PyResult<(usize, usize, u32)> {
        let schedule = self.lock()?.prepare_schedule(plan.inner.needs()).map_err(raise)?;
        let bytes = |direction| schedule.bytes(direction);
        Ok((bytes(Direction::ToClient), bytes(Direction::ToServer), schedule.flips()))
    }

    fn drop_low<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        bits: u32,
        by: u32,
    ) -> PyResult<Words<'py>> {
        let out = protocol::drop_low(self.party, ring(bits)?, &flat(&x), by);
        shaped(py, out, x.shape())
    }

    fn extend<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        bits: u32,
        to_bits: u32,
    ) -> PyResult<Words<'py>> {
        let values = flat(&x);
        let step = Extend { from: ring(bits)?, to: ring(to_bits)?, count: values.len() };
        shaped(py, self.run(py, |context| step.run(context, &values))?, x.shape())
    }

    fn less_than<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        bits: u32,
        thresholds: Vec<i64>,
    ) -> PyResult<Vec<Bits<'py>>> {
        let values = flat(&x);
        let (count, outputs) = (values.len(), thresholds.len());
        let step = LessThan { ring: ring(bits)?, thresholds, count };
        let all = self.run(py, |context| step.run(context, &values))?;
        (0..outputs).map(|j| shaped(py, all[j * count..][..count].to_vec(), x.shape())).collect()
    }

    fn mux<'py>(
        &self,
        py: Python<'py>,
        bit: Array<'py, u8>,
        x: Array<'py, u64>,
        bits: u32,
    ) -> PyResult<Words<'py>> {
        let (choices, values) = (flat(&bit), flat(&x));
        let step = Mux { ring: ring(bits)?, count: values.len() };
        shaped(py, self.run(py, |context| step.run(context, &choices, &values))?, x.shape())
    }

    fn mux_rows<'py>(
        &self,
        py: Python<'py>,
        bit: Array<'py, u8>,
        x: Array<'py, u64>,
        bits: u32,
    ) -> PyResult<Words<'py>> {
        let (choices, values, [rows, width]) = (flat(&bit), flat(&x), axes(&x)?);
        let step = MuxRows { ring: ring(bits)?, rows, width };
        shaped(py, self.run(py, |context| step.run(context, &choices, &values))?, x.shape())
    }

    fn arithmetic<'py>(
        &self,
        py: Python<'py>,
        bit: Array<'py, u8>,
        bits: u32,
    ) -> PyResult<Words<'py>> {
        let choices = flat(&bit);
        let step = ToArithmetic { ring: ring(bits)?, count: choices.len() };
        shaped(py, self.run(py, |context| step.run(context, &choices))?, bit.shape())
    }

    fn square<'py>(&self, py: Python<'py>, x: Array<'py, u64>, bits: u32) -> PyResult<Words<'py>> {
        let values = flat(&x);
        let step = Square { ring: ring(bits)?, count: values.len() };
        shaped(py, self.run(py, |context| step.run(context, &values))?, x.shape())
    }

    fn product<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        y: Array<'py, u64>,
        bits: u32,
    ) -> PyResult<Words<'py>> {
        let (left, right) = (flat(&x), flat(&y));
        let step = Product { ring: ring(bits)?, count: left.len() };
        shaped(py, self.run(py, |context| step.run(context, &left, &right))?, x.shape())
    }

    fn linear<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        number: u32,
        bits: u32,
    ) -> PyResult<Words<'py>> {
        let [rows, columns] = axes(&x)?;
        let known = self.shapes.lock().map_err(raise)?.get(&number).copied();
        let (inner, cols) = known.ok_or_else(|| raise(format!("weight {number} is unknown")))?;
        if columns != inner {
            return Err(raise(format!("weight {number} takes {inner} columns, got {columns}")));
        }
        let values = flat(&x);
        let step = Linear { weight: number, ring: ring(bits)?, rows, inner, cols };
        shaped(py, self.run(py, |context| step.run(context, &values))?, &[rows, cols])
    }

    fn matmul<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        y: Array<'py, u64>,
        bits: u32,
    ) -> PyResult<Words<'py>> {
        let ([batch, rows, inner], [batches, inners, cols]) = (axes(&x)?, axes(&y)?);
        if (batch, inner) != (batches, inners) {
            return Err(raise("the matrices of a product do not fit"));
        }
        let (left, right) = (flat(&x), flat(&y));
        let step = MatMul { ring: ring(bits)?, batch, rows, inner, cols };
        let out = self.run(py, |context| step.run(context, &left, &right))?;
        shaped(py, out, &[batch, rows, cols])
    }

    fn maximum<'py>(&self, py: Python<'py>, x: Array<'py, u64>, bits: u32) -> PyResult<Words<'py>> {
        let ([rows, cols], values) = (axes(&x)?, flat(&x));
        let step = Max { ring: ring(bits)?, rows, cols };
        shaped(py, self.run(py, |context| step.run(context, &values))?, &[rows])
    }

    fn inverse<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        spec: InverseSpec,
    ) -> PyResult<Words<'py>> {
        let values = flat(&x);
        let step = spec.step(values.len())?;
        shaped(py, self.run(py, |context| step.run(context, &values))?, x.shape())
    }

    fn reveal<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        bits: u32,
    ) -> PyResult<Option<Words<'py>>> {
        let values = flat(&x);
        let step = Reveal { ring: ring(bits)?, count: values.len() };
        let opened = self.run(py, |context| step.run(context, &values))?;
        if self.is_server() { Ok(None) } else { shaped(py, opened, x.shape()).map(Some) }
    }

    fn sent_bytes(&self) -> PyResult<u64> {
        Ok(self.lock()?.meter().sent_bytes())
    }

    fn received_bytes(&self) -> PyResult<u64> {
        Ok(self.lock()?.meter().received_bytes())
    }

    fn flips(&self) -> PyResult<u32> {
        Ok(self.lock()?.meter().flips())
    }

    fn traffic_by_label(&self) -> PyResult<BTreeMap<&'static str, (u64, u64, u64)>> {
        let session = self.lock()?;
        let labels = session.meter().by_label().iter();
        Ok(labels
            .map(|(label, t)| (*label, (t.sent_bytes, t.received_bytes, t.messages)))
            .collect())
    }

    fn record(&self) -> PyResult<()> {
        self.lock()?.record();
        Ok(())
    }

    fn take_recording(&self) -> PyResult<Vec<(&'static str, &'static str, usize)>> {
        Ok(self.lock()?.take_recording().iter().map(event).collect())
    }

    fn unused_correlations(&self) -> PyResult<usize> {
        Ok(self.lock()?.batches_left())
    }
}

//! One party's side of a run.

use crate::connection::{Connection, duration};
use crate::error::raise;
use crate::inverse::{InverseSpec, PiecewiseSpec};
use crate::plan::{Plan, event, extend_all, ring};
use crate::words::{Array, axes, flat, shaped};
use degreespar_link::{Direction, Event, Meter, Stream};
use degreespar_protocol as protocol;
use degreespar_protocol::{
    Context, Extend, ExtendSquare, LessThan, Linear, MatMul, Max, Mux, MuxRows, Product,
    ProtocolError, Reveal, Square, ToArithmetic,
};
use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

type Words<'py> = Bound<'py, PyArrayDyn<u64>>;
type Bits<'py> = Bound<'py, PyArrayDyn<u8>>;
/// Seconds, bytes to the client, bytes to the server, flips.
type Spent = (f64, u64, u64, u32);
/// A message: direction, label, bytes.
type Shape = (&'static str, &'static str, usize);

/// Set-up, prepare, answer.
#[pyclass(module = "degreespar._native", frozen)]
pub struct Session {
    /// None once it is closed.
    inner: Mutex<Option<protocol::Session>>,
    party: degreespar_link::Party,
    /// (inner, cols) of the weight matrices.
    shapes: Mutex<HashMap<u32, (usize, usize)>>,
}

impl Session {
    fn with<T>(
        &self,
        step: impl FnOnce(&mut protocol::Session) -> Result<T, ProtocolError>,
    ) -> PyResult<T> {
        let guard = self.inner.lock();
        let mut guard = guard.map_err(|_| raise("the session broke in another thread"))?;
        let session = guard.as_mut().ok_or_else(|| raise("the session is closed"))?;
        step(session).map_err(raise)
    }

    /// The same for whatever may wait, without holding the interpreter.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut protocol::Session) -> Result<T, ProtocolError> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.with(step))
    }

    /// Runs a step without holding the interpreter.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut Context<'_>) -> Result<T, ProtocolError> + Send,
    ) -> PyResult<T> {
        self.wait(py, |session| session.run(step))
    }

    fn meters(&self) -> PyResult<[Meter; 2]> {
        self.with(|session| Ok(Stream::ALL.map(|stream| session.meter(stream))))
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
        let link = connection.take()?;
        let inner = py.detach(|| protocol::Session::new(*link)).map_err(raise)?;
        let party = inner.party();
        Ok(Self { inner: Mutex::new(Some(inner)), party, shapes: Mutex::default() })
    }

    #[getter]
    fn is_server(&self) -> bool {
        self.party.is_server()
    }

    fn load_weight(&self, number: u32, matrix: Array<'_, i16>) -> PyResult<()> {
        let [inner, cols] = axes(&matrix)?;
        self.note_shape(number, inner, cols)?;
        let values = flat(&matrix).into();
        self.with(|session| session.load_weight(number, inner, cols, values))
    }

    fn declare_weight(&self, number: u32, inner: usize, cols: usize) -> PyResult<()> {
        self.note_shape(number, inner, cols)?;
        self.with(|session| session.declare_weight(number, inner, cols))
    }

    fn prepare(&self, py: Python<'_>, plan: &Plan) -> PyResult<()> {
        self.wait(py, |session| session.prepare(plan.inner.needs()))
    }

    fn hold_at_most(&self, windows: usize) -> PyResult<()> {
        self.with(|session| {
            session.hold_at_most(windows);
            Ok(())
        })
    }

    fn order(&self, plan: &Plan) -> PyResult<()> {
        self.with(|session| {
            session.order(plan.inner.needs());
            Ok(())
        })
    }

    fn wait_ready(&self, py: Python<'_>, windows: usize) -> PyResult<()> {
        self.wait(py, |session| session.wait_ready(windows))
    }

    fn begin_answer(&self, py: Python<'_>, wait_s: f64) -> PyResult<()> {
        let wait = duration(wait_s)?;
        self.wait(py, |session| session.begin_answer(wait))
    }

    fn begin_window(&self, py: Python<'_>) -> PyResult<Spent> {
        let [cost, _] = self.wait(py, protocol::Session::begin_window)?;
        Ok((cost.time.as_secs_f64(), cost.to_client_bytes, cost.to_server_bytes, cost.flips))
    }

    fn end_window(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, protocol::Session::end_window)
    }

    fn windows_held(&self) -> PyResult<usize> {
        self.with(|session| Ok(session.windows_held()))
    }

    fn burn(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, |session| {
            session.burn();
            Ok(())
        })
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.inner.lock().map(|mut session| session.take())));
    }

    fn prepare_cost(&self, py: Python<'_>, plan: &Plan) -> PyResult<(usize, usize, u32)> {
        let schedule = self.wait(py, |session| session.prepare_schedule(plan.inner.needs()))?;
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

    fn extend_all<'py>(
        &self,
        py: Python<'py>,
        parts: Vec<(Array<'py, u64>, u32, u32)>,
    ) -> PyResult<Vec<Words<'py>>> {
        let sizes = parts.iter().map(|(x, from, to)| (*from, *to, x.len()));
        let step = extend_all(&sizes.collect::<Vec<_>>())?;
        let batches: Vec<_> = parts.iter().map(|(x, ..)| flat(x)).collect();
        let out = self.run(py, |context| {
            step.run(context, &batches.iter().map(|batch| &batch[..]).collect::<Vec<_>>())
        })?;
        out.into_iter().zip(&parts).map(|(out, (x, ..))| shaped(py, out, x.shape())).collect()
    }

    fn extend_square<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        bits: u32,
        to_bits: u32,
        nonnegative: bool,
    ) -> PyResult<Words<'py>> {
        let (values, from, to) = (flat(&x), ring(bits)?, ring(to_bits)?);
        let step = ExtendSquare { from, to, nonnegative, count: values.len() };
        shaped(py, self.run(py, |context| step.run(context, &values))?, x.shape())
    }

    fn piecewise<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py, u64>,
        spec: PiecewiseSpec,
    ) -> PyResult<Words<'py>> {
        let values = flat(&x);
        let step = spec.step(values.len())?;
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
        let step = Max::new(ring(bits)?, rows, cols);
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
        Ok(self.meters()?.iter().map(Meter::sent_bytes).sum())
    }

    fn received_bytes(&self) -> PyResult<u64> {
        Ok(self.meters()?.iter().map(Meter::received_bytes).sum())
    }

    fn flips(&self) -> PyResult<u32> {
        Ok(self.meters()?.iter().map(Meter::flips).sum())
    }

    fn answer_traffic(&self) -> PyResult<(u64, u64, u32)> {
        let meter = self.with(|session| Ok(session.meter(Stream::Answer)))?;
        Ok((meter.sent_bytes(), meter.received_bytes(), meter.flips()))
    }

    fn traffic_by_label(&self) -> PyResult<BTreeMap<&'static str, (u64, u64, u64)>> {
        let meters = self.meters()?;
        let labels = meters.iter().flat_map(Meter::by_label);
        Ok(labels
            .map(|(label, t)| (*label, (t.sent_bytes, t.received_bytes, t.messages)))
            .collect())
    }

    fn record(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, |session| {
            session.record();
            Ok(())
        })
    }

    fn take_recording(&self, py: Python<'_>) -> PyResult<(Vec<Shape>, Vec<Shape>)> {
        let [prepare, answer] = self.wait(py, |session| {
            Ok([Stream::Prepare, Stream::Answer].map(|stream| session.take_recording(stream)))
        })?;
        let shapes = |events: Vec<Event>| events.iter().map(event).collect();
        Ok((shapes(prepare), shapes(answer)))
    }

    fn unused_correlations(&self) -> PyResult<usize> {
        self.with(|session| Ok(session.batches_left()))
    }
}

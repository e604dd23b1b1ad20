//! Everything that one party owns during a run.

use crate::pipeline::Pipeline;
use crate::preparer::{PrepareCost, Preparer};
use crate::{Context, Need, Prepared, ProtocolError, Store, WeightId, WeightTable};
use degreespar_link::{Channel, Direction, Event, Link, LinkError, Meter, Party, Schedule, Stream};
use std::sync::Arc;
use std::time::Duration;

const BEGIN: &str = "begin";

/// One party of a run: the channel of the answers, the window in use, and beside it the preparation of the next ones,
/// on a thread and a channel of its own.
///
/// Any error burns everything that is prepared and ends the connection: an aborted run leaves nothing that could be used
/// twice.
pub struct Session {
    answer: Channel,
    weights: WeightTable,
    store: Store,
    pipeline: Pipeline,
}

impl Session {
    /// Sets up a session with the peer: oblivious transfer, then the client's lattice keys.
    pub fn new(link: Link) -> Result<Self, ProtocolError> {
        let Link { answer, prepare, closer } = link;
        Self::over(answer, Preparer::new(prepare)?, closer)
    }

    /// A session over a given preparer.
    pub fn over(
        answer: Channel,
        preparer: Preparer,
        closer: degreespar_link::Closer,
    ) -> Result<Self, ProtocolError> {
        let pipeline = Pipeline::start(preparer, closer)?;
        let (weights, store) = (WeightTable::default(), Store::default());
        Ok(Self { answer, weights, store, pipeline })
    }

    /// Who this is.
    pub fn party(&self) -> Party {
        self.answer.party()
    }

    /// At the server: a weight matrix (inner x cols, row major).
    pub fn load_weight(
        &mut self,
        id: WeightId,
        inner: usize,
        cols: usize,
        values: Arc<[i16]>,
    ) -> Result<(), ProtocolError> {
        self.weights.load(id, inner, cols, Arc::clone(&values))?;
        self.pipeline.preparer().load_weight(id, inner, cols, values)
    }

    /// At the client: the shape of a weight matrix.
    pub fn declare_weight(
        &mut self,
        id: WeightId,
        inner: usize,
        cols: usize,
    ) -> Result<(), ProtocolError> {
        self.weights.declare(id, inner, cols)?;
        self.pipeline.preparer().declare_weight(id, inner, cols)
    }

    /// Bounds the windows that are held at once, the one in use included.
    pub fn hold_at_most(&mut self, windows: usize) {
        self.pipeline.hold_at_most(windows);
    }

    /// Orders a window's correlations: they are made as soon as those ordered before are, and there is room.
    pub fn order(&mut self, needs: &[Need]) {
        self.pipeline.order(needs);
    }

    /// Waits until so many of the ordered windows lie ready.
    pub fn wait_ready(&mut self, windows: usize) -> Result<(), ProtocolError> {
        let ready = self.pipeline.wait_ready(windows);
        self.burn_on_error(ready)
    }

    /// Takes up the next window that was ordered, when it is made; what it took, and what was declared.
    pub fn begin_window(&mut self) -> Result<[PrepareCost; 2], ProtocolError> {
        let next = self.next_window();
        let Prepared { store, spent, declared } = self.burn_on_error(next)?;
        self.store = store;
        self.answer.begin_phase();
        Ok([spent, declared])
    }

    fn next_window(&mut self) -> Result<Prepared, ProtocolError> {
        self.end_window()?;
        self.pipeline.next()
    }

    /// The window in use is used up: there is room for another.
    pub fn end_window(&mut self) -> Result<(), ProtocolError> {
        let left = self.store.batches_left();
        if left > 0 {
            self.burn();
            return Err(ProtocolError::Unused(left));
        }
        self.pipeline.release();
        Ok(())
    }

    /// The client tells the server that an answer begins; the server waits for it at most so long.
    pub fn begin_answer(&mut self, wait: Duration) -> Result<(), ProtocolError> {
        self.answer.begin_phase();
        let begun = match self.party() {
            Party::Client => self.answer.send(BEGIN, Vec::new()),
            Party::Server => self.answer.receive_within(BEGIN, 0, wait).map(drop),
        };
        self.burn_on_error(begun.map_err(ProtocolError::Link))
    }

    /// The messages of [`Session::begin_answer`].
    pub fn begin_schedule() -> Schedule {
        Schedule::default().message(Direction::ToServer, BEGIN, 0)
    }

    /// Makes the correlations of a window at once, beside those that are not used yet.
    pub fn prepare(&mut self, needs: &[Need]) -> Result<(), ProtocolError> {
        self.pipeline.release();
        self.pipeline.order(needs);
        let made = self.pipeline.next();
        let made = self.burn_on_error(made)?;
        self.store.append(made.store);
        self.answer.begin_phase();
        Ok(())
    }

    /// The messages of the next preparation for these needs, if nothing else is ordered.
    pub fn prepare_schedule(&self, needs: &[Need]) -> Result<Schedule, ProtocolError> {
        self.pipeline.preparer().schedule(needs)
    }

    /// Runs a primitive, or several, in this party's context.
    pub fn run<T>(
        &mut self,
        step: impl FnOnce(&mut Context<'_>) -> Result<T, ProtocolError>,
    ) -> Result<T, ProtocolError> {
        let Self { answer, store, weights, .. } = self;
        let result = step(&mut Context { channel: answer, store, weights });
        self.burn_on_error(result)
    }

    /// What passed so far on one stream; of preparations, up to the last window made.
    pub fn meter(&self, stream: Stream) -> Meter {
        match stream {
            Stream::Answer => self.answer.meter().clone(),
            Stream::Prepare => self.pipeline.meter(),
        }
    }

    /// Starts to keep the shape of every message.
    pub fn record(&mut self) {
        self.answer.record();
        self.pipeline.preparer().record();
    }

    /// The shapes of one stream's messages since [`Session::record`].
    pub fn take_recording(&mut self, stream: Stream) -> Vec<Event> {
        match stream {
            Stream::Answer => self.answer.take_recording(),
            Stream::Prepare => self.pipeline.preparer().take_recording(),
        }
    }

    /// Prepared batches that are not used yet.
    pub fn batches_left(&self) -> usize {
        self.store.batches_left() + self.pipeline.batches_ready()
    }

    /// Windows that are held at this moment: in making, ready or in use.
    pub fn windows_held(&self) -> usize {
        self.pipeline.windows_held()
    }

    /// Drops everything that is prepared and not used, and ends the connection.
    pub fn burn(&mut self) {
        self.store = Store::default();
        self.pipeline.abort();
    }

    /// If the preparer failed first, its error is the one that tells what happened.
    fn burn_on_error<T>(&mut self, result: Result<T, ProtocolError>) -> Result<T, ProtocolError> {
        result.map_err(|error| {
            self.store = Store::default();
            match (self.pipeline.abort(), &error) {
                (Some(first), ProtocolError::Link(LinkError::Closed(_))) => first,
                _ => error,
            }
        })
    }
}

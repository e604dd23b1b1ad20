//! Everything that one party owns during a run.

use crate::cots::OtSupply;
use crate::hidden::{HiddenProducts, LatticeProducts};
use crate::prepare::{prepare, prepare_schedule};
use crate::{Context, Need, ProtocolError, Store, WeightId, WeightTable};
use degreespar_link::{Channel, Event, Meter, Party, Schedule};
use degreespar_ot::{OtFactory, Prg};
use std::sync::Arc;

/// One party of a run: its connection, its weights or their shapes, its makers of correlations, and what they made.
///
/// Any error burns the prepared correlations: an aborted run leaves nothing that could be used twice.
pub struct Session {
    channel: Channel,
    ots: OtSupply,
    products: Box<dyn HiddenProducts>,
    weights: WeightTable,
    store: Store,
    prg: Prg,
}

impl Session {
    /// Sets up a session with the peer: oblivious transfer, then the client's lattice keys.
    pub fn new(mut channel: Channel) -> Result<Self, ProtocolError> {
        let mut prg = Prg::from_os()?;
        let factory = OtFactory::setup(&mut channel, Prg::from_seed(prg.seed()))?;
        let products = LatticeProducts::setup(&mut channel, &mut prg)?;
        Ok(Self::over(channel, OtSupply::new(Box::new(factory)), Box::new(products), prg))
    }

    /// The messages of [`Session::new`].
    pub fn setup_schedule() -> Schedule {
        OtFactory::setup_schedule().then(LatticeProducts::setup_schedule())
    }

    /// A session over given makers of correlations.
    pub fn over(
        channel: Channel,
        ots: OtSupply,
        products: Box<dyn HiddenProducts>,
        prg: Prg,
    ) -> Self {
        let (weights, store) = (WeightTable::default(), Store::default());
        Self { channel, ots, products, weights, store, prg }
    }

    /// Who this is.
    pub fn party(&self) -> Party {
        self.channel.party()
    }

    /// At the server: a weight matrix (inner x cols, row major).
    pub fn load_weight(
        &mut self,
        id: WeightId,
        inner: usize,
        cols: usize,
        values: Arc<[i16]>,
    ) -> Result<(), ProtocolError> {
        self.weights.load(id, inner, cols, values)
    }

    /// At the client: the shape of a weight matrix.
    pub fn declare_weight(
        &mut self,
        id: WeightId,
        inner: usize,
        cols: usize,
    ) -> Result<(), ProtocolError> {
        self.weights.declare(id, inner, cols)
    }

    /// Makes the correlations of a window of the program.
    pub fn prepare(&mut self, needs: &[Need]) -> Result<(), ProtocolError> {
        let Self { channel, ots, products, weights, store, prg } = self;
        channel.begin_phase();
        let made = prepare(channel, needs, ots, products.as_mut(), weights, prg, store);
        channel.begin_phase();
        self.burn_on_error(made)
    }

    /// The messages of the next [`Session::prepare`] for these needs.
    pub fn prepare_schedule(&self, needs: &[Need]) -> Result<Schedule, ProtocolError> {
        prepare_schedule(needs, &self.ots)
    }

    /// Runs a primitive, or several, in this party's context.
    pub fn run<T>(
        &mut self,
        step: impl FnOnce(&mut Context<'_>) -> Result<T, ProtocolError>,
    ) -> Result<T, ProtocolError> {
        let Self { channel, store, weights, .. } = self;
        let result = step(&mut Context { channel, store, weights });
        self.burn_on_error(result)
    }

    /// The connection, for the handshake, deadlines and recordings of the layer above.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// What passed so far.
    pub fn meter(&self) -> &Meter {
        self.channel.meter()
    }

    /// Starts to keep the shape of every message.
    pub fn record(&mut self) {
        self.channel.record();
    }

    /// The shapes kept since [`Session::record`].
    pub fn take_recording(&mut self) -> Vec<Event> {
        self.channel.take_recording()
    }

    /// Prepared batches that are not used yet.
    pub fn batches_left(&self) -> usize {
        self.store.batches_left()
    }

    /// Drops everything that is prepared and not used.
    pub fn burn(&mut self) {
        self.store = Store::default();
    }

    fn burn_on_error<T>(&mut self, result: Result<T, ProtocolError>) -> Result<T, ProtocolError> {
        if result.is_err() {
            self.burn();
        }
        result
    }
}

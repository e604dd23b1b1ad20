//! The side of a party that makes correlations.

use crate::cots::OtSupply;
use crate::hidden::{HiddenProducts, LatticeProducts};
use crate::prepare::{prepare, prepare_schedule};
use crate::{Need, ProtocolError, Store, WeightId, WeightTable};
use degreespar_link::{Channel, Direction, Event, Meter, Party, Schedule};
use degreespar_ot::{OtFactory, Prg};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Makes the correlations of window after window over a channel of its own.
pub struct Preparer {
    channel: Channel,
    ots: OtSupply,
    products: Box<dyn HiddenProducts>,
    weights: WeightTable,
    prg: Prg,
}

/// The correlations of one window, and what making them cost.
#[derive(Debug, Default)]
pub struct Prepared {
    /// The correlations.
    pub store: Store,
    /// Time and traffic, as this party measured them.
    pub spent: PrepareCost,
    /// Traffic as it was declared; no time.
    pub declared: PrepareCost,
}

/// What one preparation takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrepareCost {
    /// Waiting for the peer included.
    pub time: Duration,
    /// Payload bytes from the server.
    pub to_client_bytes: u64,
    /// Payload bytes from the client.
    pub to_server_bytes: u64,
    /// One-way latencies in a row.
    pub flips: u32,
}

impl Preparer {
    /// Sets up with the peer: oblivious transfer, then the client's lattice keys.
    pub fn new(mut channel: Channel) -> Result<Self, ProtocolError> {
        let mut prg = Prg::from_os()?;
        let factory = OtFactory::setup(&mut channel, Prg::from_seed(prg.seed()))?;
        let products = LatticeProducts::setup(&mut channel, &mut prg)?;
        Ok(Self::over(channel, OtSupply::new(Box::new(factory)), Box::new(products), prg))
    }

    /// The messages of [`Preparer::new`].
    pub fn setup_schedule() -> Schedule {
        OtFactory::setup_schedule().then(LatticeProducts::setup_schedule())
    }

    /// A preparer over given makers of correlations.
    pub fn over(
        channel: Channel,
        ots: OtSupply,
        products: Box<dyn HiddenProducts>,
        prg: Prg,
    ) -> Self {
        Self { channel, ots, products, weights: WeightTable::default(), prg }
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

    /// Makes the correlations of a window. An error leaves nothing of them.
    pub fn prepare(&mut self, needs: &[Need]) -> Result<Prepared, ProtocolError> {
        let declared = PrepareCost::declared(&self.schedule(needs)?);
        let mut store = Store::default();
        let (start, before) = (Instant::now(), self.traffic());
        self.channel.begin_phase();
        let Self { channel, ots, products, weights, prg } = self;
        prepare(channel, needs, ots, products.as_mut(), weights, prg, &mut store)?;
        let spent = PrepareCost { time: start.elapsed(), ..self.traffic().since(before) };
        Ok(Prepared { store, spent, declared })
    }

    /// The messages of the next [`Preparer::prepare`] for these needs.
    pub fn schedule(&self, needs: &[Need]) -> Result<Schedule, ProtocolError> {
        prepare_schedule(needs, &self.ots)
    }

    /// What passed so far.
    pub fn meter(&self) -> &Meter {
        self.channel.meter()
    }

    /// Starts to keep the shape of every message.
    pub fn record(&mut self) {
        self.channel.record();
    }

    /// The shapes kept since [`Preparer::record`].
    pub fn take_recording(&mut self) -> Vec<Event> {
        self.channel.take_recording()
    }

    fn traffic(&self) -> PrepareCost {
        let meter = self.channel.meter();
        let (sent, received) = (meter.sent_bytes(), meter.received_bytes());
        let (to_client_bytes, to_server_bytes) = match self.channel.party() {
            Party::Server => (sent, received),
            Party::Client => (received, sent),
        };
        let time = Duration::ZERO;
        PrepareCost { time, to_client_bytes, to_server_bytes, flips: meter.flips() }
    }
}

impl PrepareCost {
    fn declared(schedule: &Schedule) -> Self {
        Self {
            time: Duration::ZERO,
            to_client_bytes: schedule.bytes(Direction::ToClient) as u64,
            to_server_bytes: schedule.bytes(Direction::ToServer) as u64,
            flips: schedule.flips(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            time: self.time - before.time,
            to_client_bytes: self.to_client_bytes - before.to_client_bytes,
            to_server_bytes: self.to_server_bytes - before.to_server_bytes,
            flips: self.flips - before.flips,
        }
    }
}

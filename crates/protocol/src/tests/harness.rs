//! Runs both parties of a step and checks what every step must keep: declared messages, declared flips, used-up store.

use crate::ideal::{ClearProducts, IdealCots};
use crate::{
    Context, Need, OtSupply, Plan, Primitive, ProtocolError, Store, WeightTable, cot_count,
    prepare, prepare_schedule,
};
use degreespar_link::{Channel, Direction, Event, Party, Schedule, memory};
use degreespar_ot::Prg;
use degreespar_ring::Ring;

pub(crate) type Outcome<T> = Result<T, ProtocolError>;
pub(crate) type Tested = Result<(), Box<dyn std::error::Error>>;

/// Both parties' results, server first, and what passed while they ran.
pub(crate) struct Played<T> {
    pub results: [T; 2],
    pub recording: [Vec<Event>; 2],
}

/// Widths that the primitives claim.
pub(crate) const WIDTHS: [u32; 7] = [8, 12, 20, 28, 37, 44, 64];

/// Batch sizes that meet every corner: nothing, one half empty, unequal halves, several words.
pub(crate) const COUNTS: [usize; 5] = [0, 1, 2, 7, 131];

/// Runs `step` at both parties; the weights table is made by `weights`.
pub(crate) fn play_with<T: Send>(
    plan: &Plan,
    weights: impl Fn(Party) -> WeightTable + Sync,
    step: impl Fn(&mut Context<'_>) -> Outcome<T> + Sync,
) -> Outcome<Played<T>> {
    let (server, client) = memory::channels();
    let (answer_server, answer_client) = memory::channels();
    let one = |mut channel: Channel, mut answer: Channel| -> Outcome<(T, Vec<Event>, u32, u32)> {
        let weights = weights(channel.party());
        let (prepared, mut store) = prepared(&mut channel, plan.needs(), &weights)?;
        check_recording(&channel.take_recording(), &prepared);
        answer.record();
        let mut context = Context { channel: &mut answer, store: &mut store, weights: &weights };
        let result = step(&mut context)?;
        let recording = answer.take_recording();
        check_recording(&recording, plan.schedule());
        assert!(store.is_empty(), "the step must use up what it needs");
        Ok((result, recording, answer.meter().flips(), channel.meter().flips()))
    };
    let (left, right) =
        in_two_threads(|| one(server, answer_server), || one(client, answer_client));
    let (left, right) = (left?, right?);
    assert_eq!(left.2.max(right.2), plan.schedule().flips(), "declared flips");
    Ok(Played { results: [left.0, right.0], recording: [left.1, right.1] })
}

/// Runs `step`, which uses no weights, at both parties.
pub(crate) fn play<T: Send>(
    step: &dyn Primitive,
    run: impl Fn(&mut Context<'_>) -> Outcome<T> + Sync,
) -> Outcome<Played<T>> {
    play_with(&plan(step), |_| WeightTable::default(), run)
}

pub(crate) fn plan(step: &dyn Primitive) -> Plan {
    let mut plan = Plan::default();
    plan.add(step);
    plan
}

/// Prepares over ideal layers; the declared schedule, and the filled store.
pub(crate) fn prepared(
    channel: &mut Channel,
    needs: &[Need],
    weights: &WeightTable,
) -> Outcome<(Schedule, Store)> {
    let mut ots = OtSupply::new(Box::new(IdealCots::new(3)));
    let mut prg = Prg::from_seed([channel.party() as u8 + 100; 32]);
    let mut store = Store::default();
    let declared = prepare_schedule(needs, &ots)?;
    channel.record();
    prepare(channel, needs, &mut ots, &mut ClearProducts, weights, &mut prg, &mut store)?;
    Ok((declared, store))
}

pub(crate) fn check_recording(recording: &[Event], declared: &Schedule) {
    for direction in [Direction::ToClient, Direction::ToServer] {
        let events = recording.iter().filter(|event| event.direction == direction);
        assert!(events.eq(&declared.events(direction)), "{direction:?}: {recording:?}");
    }
}

pub(crate) fn in_two_threads<A: Send, B: Send>(
    left: impl FnOnce() -> A + Send,
    right: impl FnOnce() -> B + Send,
) -> (A, B) {
    std::thread::scope(|scope| {
        let left = scope.spawn(left);
        let right = right();
        match left.join() {
            Ok(left) => (left, right),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Test data.
pub(crate) struct Data(Prg);

impl Data {
    pub fn new(seed: u8) -> Self {
        Self(Prg::from_seed([seed; 32]))
    }

    /// Elements anywhere in the ring, its corners first.
    pub fn any(&mut self, ring: Ring, count: usize) -> Vec<u64> {
        let top = ring.mask() >> 1;
        let corners = [0, 1, ring.mask(), top, top + 1, ring.mask() - 1];
        self.after(&corners.map(|corner| ring.reduce(corner)), ring, count)
    }

    /// Signed values below 2^(b-2), the largest and smallest first.
    pub fn bounded(&mut self, ring: Ring, count: usize) -> Vec<i64> {
        let limit = 1i64 << (ring.bits() - 2);
        let corners = [0, limit - 1, 1 - limit, 1, -1];
        let corners = corners.into_iter().filter(|corner| corner.abs() < limit);
        let fill = std::iter::repeat_with(|| (self.0.word() as i64) % limit);
        corners.chain(fill).take(count).collect()
    }

    pub fn bits(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.0.word() & 1) as u8).collect()
    }

    pub fn narrow(&mut self, count: usize) -> Vec<i16> {
        let fill = std::iter::repeat_with(|| self.0.word() as i16);
        [i16::MIN, i16::MAX, 0, -1].into_iter().chain(fill).take(count).collect()
    }

    /// Both shares of elements; the first few shares are corners themselves.
    pub fn share(&mut self, ring: Ring, x: &[u64]) -> [Vec<u64>; 2] {
        let client = self.after(&[0, ring.mask(), ring.mask() / 2 + 1], ring, x.len());
        [x.iter().zip(&client).map(|(&x, &x1)| ring.sub(x, x1)).collect(), client]
    }

    pub fn share_signed(&mut self, ring: Ring, x: &[i64]) -> [Vec<u64>; 2] {
        let x: Vec<u64> = x.iter().map(|&x| ring.encode(x)).collect();
        self.share(ring, &x)
    }

    pub fn share_bits(&mut self, bits: &[u8]) -> [Vec<u8>; 2] {
        let client = self.bits(bits.len());
        [bits.iter().zip(&client).map(|(bit, other)| bit ^ other).collect(), client]
    }

    fn after(&mut self, corners: &[u64], ring: Ring, count: usize) -> Vec<u64> {
        let fill = std::iter::repeat_with(|| ring.reduce(self.0.word()));
        corners.iter().copied().chain(fill).take(count).collect()
    }
}

/// The values of both parties' shares.
pub(crate) fn open(ring: Ring, shares: &[Vec<u64>; 2]) -> Vec<u64> {
    assert_eq!(shares[0].len(), shares[1].len());
    shares.iter().flatten().for_each(|&word| assert_eq!(word, ring.reduce(word), "unreduced"));
    shares[0].iter().zip(&shares[1]).map(|(&x0, &x1)| ring.add(x0, x1)).collect()
}

pub(crate) fn open_signed(ring: Ring, shares: &[Vec<u64>; 2]) -> Vec<i64> {
    open(ring, shares).into_iter().map(|x| ring.decode(x)).collect()
}

pub(crate) fn open_bits(shares: &[Vec<u8>; 2]) -> Vec<u8> {
    assert_eq!(shares[0].len(), shares[1].len());
    shares[0].iter().zip(&shares[1]).map(|(b0, b1)| b0 ^ b1).collect()
}

/// This party's part of a shared thing.
pub(crate) fn mine<'a, T>(context: &Context<'_>, shares: &'a [Vec<T>; 2]) -> &'a [T] {
    &shares[usize::from(!context.party().is_server())]
}

/// The needs of a step and the COTs behind them, for sanity.
pub(crate) fn cots_of(step: &dyn Primitive) -> usize {
    let count = cot_count(&step.needs());
    count.server_sends + count.client_sends
}

//! What crosses the wire looks random even if every share is zero: nothing is sent unmasked.

use super::harness::{Outcome, Tested, in_two_threads, prepared};
use crate::cots::{CotSource, OtSupply};
use crate::{
    Context, CotCount, Extend, ExtendSquare, LessThan, MatMul, Max, Mux, MuxRows, Primitive,
    Product, ProtocolError, Rescale, Square, ToArithmetic, Truncate, WeightTable,
};
use degreespar_link::{Channel, Frame, LinkError, Party, Schedule, Transport, memory};
use degreespar_ot::{OtError, ReceiverCots, SenderCots};
use degreespar_ring::Ring;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

type Seen = (&'static str, Vec<u8>);

/// A queue to the peer that shows what it carries.
struct Tapped {
    to_peer: Sender<Frame>,
    from_peer: Receiver<Frame>,
    tap: Sender<Seen>,
}

impl Transport for Tapped {
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError> {
        let seen = self.tap.send((label, frame.payload.clone()));
        seen.map_err(|_| LinkError::Closed(label))?;
        self.to_peer.send(frame).map_err(|_| LinkError::Closed(label))
    }

    fn receive(
        &mut self,
        label: &'static str,
        _at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        self.from_peer.recv_timeout(deadline).map_err(|_| LinkError::Timeout(deadline, label))
    }
}

/// Channels of both parties, and everything that passes.
fn tapped_channels() -> (Channel, Channel, Receiver<Seen>) {
    let ((up, from_client), (down, from_server), (tap, seen)) = (channel(), channel(), channel());
    let server = Tapped { to_peer: down, from_peer: from_client, tap: tap.clone() };
    let client = Tapped { to_peer: up, from_peer: from_server, tap };
    let server = Channel::new(Party::Server, Box::new(server));
    (server, Channel::new(Party::Client, Box::new(client)), seen)
}

/// Runs a step on shares that are all zero and looks at the bits of every message.
fn check_masks(
    step: &(dyn Primitive + Sync),
    run: impl Fn(&mut Context<'_>) -> Outcome<()> + Sync,
) -> Outcome<()> {
    let (server, client, seen) = tapped_channels();
    let (prepare_server, prepare_client) = memory::channels();
    let one = |mut channel: Channel, mut preparing: Channel| -> Outcome<()> {
        let weights = WeightTable::default();
        let (_, mut store) = prepared(&mut preparing, &step.needs(), &weights)?;
        run(&mut Context { channel: &mut channel, store: &mut store, weights: &weights })
    };
    let (left, right) =
        in_two_threads(|| one(server, prepare_server), || one(client, prepare_client));
    left.and(right)?;
    let mut messages = 0;
    for (label, payload) in seen {
        let ones: u32 = payload.iter().map(|byte| byte.count_ones()).sum();
        let share = f64::from(ones) / (8 * payload.len()) as f64;
        assert!((share - 0.5).abs() < 0.03, "{label}: {share} of {} bytes", payload.len());
        messages += 1;
    }
    assert_eq!(messages, step.schedule().all_events().len());
    Ok(())
}

#[test]
fn every_message_is_masked() -> Tested {
    let (ring, count) = (Ring::new(28)?, 8000);
    let (x, bits) = (vec![0; count], vec![0; count]);
    let step = Square { ring, count };
    check_masks(&step, |context| step.run(context, &x).map(drop))?;
    let step = Product { ring, count };
    check_masks(&step, |context| step.run(context, &x, &x).map(drop))?;
    let step = Mux { ring, count };
    check_masks(&step, |context| step.run(context, &bits, &x).map(drop))?;
    let step = MuxRows { ring, rows: count / 40, width: 40 };
    check_masks(&step, |context| step.run(context, &bits[..count / 40], &x).map(drop))?;
    let step = ToArithmetic { ring, count };
    check_masks(&step, |context| step.run(context, &bits).map(drop))?;
    let step = Extend { from: ring, to: Ring::new(40)?, count };
    check_masks(&step, |context| step.run(context, &x).map(drop))?;
    let step = ExtendSquare { from: ring, to: Ring::new(44)?, nonnegative: false, count };
    check_masks(&step, |context| step.run(context, &x).map(drop))?;
    let step = Max { ring, rows: 2000, cols: 4, widths: vec![4] };
    check_masks(&step, |context| step.run(context, &x).map(drop))?;
    let step = LessThan { ring, thresholds: vec![0, 9], count };
    check_masks(&step, |context| step.run(context, &x).map(drop))?;
    let step = Truncate { ring, drop_bits: 7, count };
    check_masks(&step, |context| step.run(context, &x).map(drop))?;
    let step = Rescale { from: ring, drop_bits: 4, to: Ring::new(44)?, count };
    check_masks(&step, |context| step.run(context, &x).map(drop))?;
    let step = Max::new(ring, 1600, 5);
    check_masks(&step, |context| step.run(context, &x).map(drop))?;
    let step = MatMul { ring, batch: 2, rows: 30, inner: 20, cols: 30 };
    let zeros = vec![0; 1200];
    check_masks(&step, |context| step.run(context, &zeros, &zeros).map(drop))?;
    Ok(())
}

/// Hands out the same blocks again and again.
struct Stuck;

impl CotSource for Stuck {
    fn generate(
        &mut self,
        _channel: &mut Channel,
        count: CotCount,
    ) -> Result<(SenderCots, ReceiverCots), OtError> {
        let sent = SenderCots::new(5, vec![2; count.server_sends]);
        Ok((sent, ReceiverCots::new(vec![7; count.client_sends])))
    }

    fn generate_schedule(&self, _counts: &[CotCount]) -> Schedule {
        Schedule::default()
    }
}

#[test]
fn no_tweak_is_hashed_twice_within_or_between_preparations() -> Tested {
    let (mut server, _client) = memory::channels();
    let mut supply = OtSupply::new(Box::new(Stuck));
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let count = CotCount { server_sends: 1300, client_sends: 700 };
        let mut cots = supply.generate(&mut server, count)?;
        for part in [600, 700] {
            cots.send(part, |_, zero, _| sent.extend_from_slice(zero))?;
        }
        cots.receive(700, |_, _, chosen| received.extend_from_slice(chosen))?;
        let exhausted = cots.receive(1, |_, _, _| {}).map_err(ProtocolError::from);
        assert!(matches!(exhausted, Err(ProtocolError::Ot(OtError::Exhausted { left: 0, .. }))));
    }
    for (mut strings, expected) in [(sent, 3900), (received, 2100)] {
        strings.sort_unstable();
        strings.dedup();
        assert_eq!(strings.len(), expected);
    }
    Ok(())
}

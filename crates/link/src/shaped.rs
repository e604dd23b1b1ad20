//! A slower line inside the process: rate and delay for anyone without root.
//!
//! Each end shapes what it *sends*: a chunk occupies the line for its bits divided by the rate, after the ones sent
//! before it, and is handed to the real transport one delay later. Both ends have to be wrapped, in one process or
//! in two; each direction is then shaped once. TCP's own start-up and loss are not imitated.

use crate::{Chunk, Duplex, LineError, Outbox};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Rate and delay of a line, equal in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Of each direction; a line of rate 0 is taken as one of 1 bit/s.
    pub rate_bits_per_s: u64,
    /// Half of the round trip.
    pub one_way_delay: Duration,
}

impl Shape {
    /// 3 Gbit/s, 0.8 ms round trip.
    pub const LAN: Self = Self::megabits(3000, 400);
    /// 400 Mbit/s, 4 ms round trip.
    pub const WAN1: Self = Self::megabits(400, 2000);
    /// 100 Mbit/s, 10 ms round trip.
    pub const WAN2: Self = Self::megabits(100, 5000);

    const fn megabits(rate_mbit_per_s: u64, one_way_us: u64) -> Self {
        Self {
            rate_bits_per_s: rate_mbit_per_s * 1_000_000,
            one_way_delay: Duration::from_micros(one_way_us),
        }
    }

    /// How long so many bytes occupy the line.
    fn occupies(&self, bytes: usize) -> Duration {
        let bits = 8 * bytes as u128;
        let nanoseconds = bits * 1_000_000_000 / u128::from(self.rate_bits_per_s.max(1));
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// Wraps one end of a connection.
pub fn shaped<O: Outbox + 'static, I>(line: Duplex<O, I>, shape: Shape) -> Duplex<ShapedOutbox, I> {
    Duplex { outbox: ShapedOutbox::new(line.outbox, shape), inbox: line.inbox }
}

/// The sending half of a shaped line. Dropping it waits until all that was sent is delivered.
pub struct ShapedOutbox {
    clock: LineClock,
    /// None only while dropping.
    to_delivery: Option<Sender<Parcel>>,
    delivery: Option<JoinHandle<()>>,
}

struct Parcel {
    arrives: Instant,
    chunk: Chunk,
}

impl ShapedOutbox {
    fn new(line: impl Outbox + 'static, shape: Shape) -> Self {
        let (to_delivery, parcels) = channel();
        let delivery = std::thread::spawn(move || deliver(line, &parcels));
        Self {
            clock: LineClock { shape, free_from: None },
            to_delivery: Some(to_delivery),
            delivery: Some(delivery),
        }
    }
}

impl Outbox for ShapedOutbox {
    fn send(&mut self, chunk: Chunk) -> Result<(), LineError> {
        let arrives = self.clock.arrival(Instant::now(), chunk.line_bytes());
        let sender = self.to_delivery.as_ref().ok_or(LineError::Closed)?;
        sender.send(Parcel { arrives, chunk }).map_err(|_| LineError::Closed)
    }
}

impl Drop for ShapedOutbox {
    fn drop(&mut self) {
        self.to_delivery = None;
        if let Some(delivery) = self.delivery.take() {
            // a panic in there has been reported by its own thread
            let _ = delivery.join();
        }
    }
}

/// Passes parcels on when they are due; ends when the sender is gone or the line is closed.
fn deliver(mut line: impl Outbox, parcels: &Receiver<Parcel>) {
    for Parcel { arrives, chunk } in parcels {
        std::thread::sleep(arrives.saturating_duration_since(Instant::now()));
        if line.send(chunk).is_err() {
            return;
        }
    }
}

/// When messages leave a line and arrive, in declared time.
struct LineClock {
    shape: Shape,
    /// The end of the last message sent.
    free_from: Option<Instant>,
}

impl LineClock {
    fn arrival(&mut self, now: Instant, line_bytes: usize) -> Instant {
        let starts = self.free_from.map_or(now, |free| free.max(now));
        let ends = starts + self.shape.occupies(line_bytes);
        self.free_from = Some(ends);
        ends + self.shape.one_way_delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channel, LinkError, Party, memory, mux};

    fn channels(shape: Shape) -> (Channel, Channel) {
        let (server, client) = memory::lines();
        let channel = |party, line| {
            let streams = mux::streams(shaped(line, shape)).expect("a thread can be started");
            Channel::new(party, streams.answer)
        };
        (channel(Party::Server, server), channel(Party::Client, client))
    }

    #[test]
    fn messages_queue_at_the_rate_and_arrive_a_delay_later() {
        let one_way_delay = Duration::from_millis(5);
        let shape = Shape { rate_bits_per_s: 8_000_000, one_way_delay };
        let mut clock = LineClock { shape, free_from: None };
        let start = Instant::now();
        let at_ms = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(clock.arrival(start, 2000), at_ms(2 + 5));
        assert_eq!(clock.arrival(start, 3000), at_ms(2 + 3 + 5), "queued");
        assert_eq!(clock.arrival(at_ms(4), 1000), at_ms(5 + 1 + 5), "queued");
        assert_eq!(clock.arrival(at_ms(50), 1000), at_ms(50 + 1 + 5), "idle line");
    }

    #[test]
    fn the_named_networks_are_those_of_the_paper() {
        let milliseconds = |shape: Shape| shape.one_way_delay.as_secs_f64() * 2e3;
        assert_eq!((Shape::LAN.rate_bits_per_s, milliseconds(Shape::LAN)), (3_000_000_000, 0.8));
        assert_eq!((Shape::WAN1.rate_bits_per_s, milliseconds(Shape::WAN1)), (400_000_000, 4.0));
        assert_eq!((Shape::WAN2.rate_bits_per_s, milliseconds(Shape::WAN2)), (100_000_000, 10.0));
        assert_eq!(Shape { rate_bits_per_s: 0, ..Shape::LAN }.occupies(16).as_secs(), 128);
    }

    #[test]
    fn nothing_arrives_before_its_delay() -> Result<(), LinkError> {
        let one_way_delay = Duration::from_millis(30);
        let (mut server, mut client) = channels(Shape { rate_bits_per_s: u64::MAX, one_way_delay });
        let start = Instant::now();
        client.send("ask", vec![1])?;
        assert_eq!(server.receive("ask", 1)?, [1]);
        server.send("reply", vec![2])?;
        assert_eq!(client.receive("reply", 1)?, [2]);
        assert!(start.elapsed() >= 2 * one_way_delay);
        Ok(())
    }

    #[test]
    fn what_was_sent_is_delivered_in_order_before_the_end_closes() -> Result<(), LinkError> {
        let (mut server, client) = channels(Shape::LAN);
        let mut client = client;
        for value in 0..100 {
            client.send("a", vec![value])?;
        }
        drop(client);
        for value in 0..100 {
            assert_eq!(server.receive("a", 1)?, [value]);
        }
        assert!(matches!(server.receive("a", 1), Err(LinkError::Closed("a"))));
        Ok(())
    }

    #[test]
    fn a_peer_that_left_is_reported_to_the_sender() {
        let one_way_delay = Duration::ZERO;
        let (mut server, client) = channels(Shape { rate_bits_per_s: u64::MAX, one_way_delay });
        drop(client);
        let closed = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            matches!(server.send("a", vec![]), Err(LinkError::Closed("a")))
        });
        assert!(closed);
    }
}

//! A peer that is honest but for one message.

use degreespar_link::{Frame, Link, LinkError, Party, Streams, Transport, memory};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What becomes of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// The right size, pseudorandom content: out of range, off the curve, garbage shares.
    Noise,
    /// The right size, all bits one: every residue is too large, no point is canonical.
    Ones,
    /// The right size, all zero: the neutral point, the zero key.
    Zeros,
    /// One bit is another.
    Bit,
    /// A byte is missing.
    Short,
    /// A byte too many.
    Long,
    /// No content.
    Empty,
    /// Another label.
    Label,
    /// A depth that no chain of messages has.
    Depth,
    /// The message before it, once more.
    Again,
    /// Nothing comes any more.
    Silence,
    /// The connection ends.
    End,
}

impl Attack {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Noise,
        Self::Ones,
        Self::Zeros,
        Self::Bit,
        Self::Short,
        Self::Long,
        Self::Empty,
        Self::Label,
        Self::Depth,
        Self::Again,
        Self::Silence,
        Self::End,
    ];

    /// Whether only the content differs: then the victim may go on, with garbage.
    pub fn keeps_the_form(self) -> bool {
        matches!(self, Self::Noise | Self::Ones | Self::Zeros | Self::Bit)
    }

    fn apply(self, mut frame: Frame, before: Option<Frame>, seed: u64) -> Frame {
        let payload = &mut frame.payload;
        match self {
            Self::Noise => crate::inputs::noise(payload, seed),
            Self::Ones => payload.fill(0xff),
            Self::Zeros => payload.fill(0),
            Self::Bit => flip(payload, seed),
            Self::Short => drop(payload.pop()),
            Self::Long => payload.push(0),
            Self::Empty => payload.clear(),
            Self::Label => frame.tag ^= 1,
            Self::Depth => frame.depth = u32::MAX,
            Self::Again => return before.unwrap_or(frame),
            Self::Silence | Self::End => {}
        }
        frame
    }
}

fn flip(payload: &mut [u8], seed: u64) {
    if payload.is_empty() {
        return;
    }
    let place = seed as usize % payload.len();
    if let Some(byte) = payload.get_mut(place) {
        *byte ^= 1 << (seed >> 32 & 7);
    }
}

/// What one party received so far, on both streams, and what becomes of the `at`-th message (from 0).
struct Plot {
    attack: Attack,
    at: usize,
    seed: u64,
    received: usize,
    before: Option<Frame>,
}

/// One stream of the victim's.
struct Tampered {
    inner: Box<dyn Transport>,
    plot: Arc<Mutex<Plot>>,
}

impl Transport for Tampered {
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError> {
        self.inner.send(label, frame)
    }

    fn receive(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        let frame = self.inner.receive(label, at_most_bytes, deadline)?;
        let mut plot = self.plot.lock().unwrap_or_else(PoisonError::into_inner);
        plot.received += 1;
        if plot.received != plot.at + 1 {
            plot.before = Some(frame.clone());
            return Ok(frame);
        }
        match plot.attack {
            Attack::Silence => Err(LinkError::Timeout(deadline, label)),
            Attack::End => Err(LinkError::Closed(label)),
            attack => {
                let before = plot.before.take();
                Ok(attack.apply(frame, before, plot.seed))
            }
        }
    }
}

/// Links of server and client; the victim's `at`-th incoming message is attacked.
pub fn links(victim: Party, attack: Attack, at: usize, seed: u64) -> (Link, Link) {
    let (server, client) = memory::streams();
    let plot = Arc::new(Mutex::new(Plot { attack, at, seed, received: 0, before: None }));
    let tampered = |inner| Box::new(Tampered { inner, plot: Arc::clone(&plot) });
    let link = |party, streams: Streams| {
        let Streams { answer, prepare, closer } = streams;
        let streams = if party == victim {
            Streams { answer: tampered(answer), prepare: tampered(prepare), closer }
        } else {
            Streams { answer, prepare, closer }
        };
        Link::new(party, streams)
    };
    (link(Party::Server, server), link(Party::Client, client))
}

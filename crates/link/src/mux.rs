//! Two streams over one line, with flow control for each (docs/spec/wire.md, section 3).
//!
//! A party's reader thread takes everything off the line as it comes, so that no stream ever waits behind another
//! one's unread bytes; what a peer may have on the way is bounded per stream by what the receiver granted:
//!
//! - at most [`FLIGHT_BYTES`] beyond what has *arrived*, so that a bulk message of one stream never delays the other
//!   stream's next message by more than that on the line;
//! - at most [`BUFFER_BYTES`] beyond what has been *consumed*: a peer cannot make this party store more.
//!
//! Nothing waits in a circle: `send` only queues (a party's own protocol bounds how much), grants are made by the reader
//! and by whoever consumes, and both hand chunks to the line without waiting for the peer. A stream that is not read
//! stops only itself.

use crate::chunk::MAX_CHUNK_BYTES;
use crate::wire::{FrameParser, header};
use crate::{
    Chunk, Closer, Duplex, Frame, Inbox, LineError, LinkError, Outbox, Stream, Streams, Transport,
};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a stream that may be under way: several times what the fastest line that we serve holds (3 Gbit/s x 0.8 ms),
/// 42 ms on the slowest (100 Mbit/s).
pub const FLIGHT_BYTES: u64 = 512 * 1024;

/// Bytes of a stream that may lie here unread.
pub const BUFFER_BYTES: u64 = 4 * 1024 * 1024;

/// A grant is worth a chunk of its own from here on.
const GRANT_STEP_BYTES: u64 = FLIGHT_BYTES / 4;

/// Arrived pieces below this size are put together: many tiny ones must not cost much more memory than bytes.
const SMALL_PIECE_BYTES: usize = 4096;

/// How often the reader looks whether anyone is left to read for.
const TICK: Duration = Duration::from_millis(50);

/// How long dropping both streams waits for the peer to grant what was sent.
const FLUSH_LIMIT: Duration = Duration::from_secs(10);

/// Opens both streams over a line; a background thread reads it from now on.
pub fn streams<O, I>(line: Duplex<O, I>) -> io::Result<Streams>
where
    O: Outbox + 'static,
    I: Inbox + 'static,
{
    let Duplex { outbox, inbox } = line;
    let shared = Arc::new(Shared::new(Box::new(outbox)));
    let reader = Arc::clone(&shared);
    let thread = std::thread::Builder::new().name("link reader".into());
    thread.spawn(move || reader.read(inbox))?;
    let end = |stream| Box::new(StreamEnd::new(Arc::clone(&shared), stream));
    let (answer, prepare) = (end(Stream::Answer), end(Stream::Prepare));
    let closer = Closer::new(move || shared.close());
    Ok(Streams { answer, prepare, closer })
}

/// This party's end of a stream.
struct StreamEnd {
    shared: Arc<Shared>,
    stream: Stream,
    parser: FrameParser,
    /// A piece that was taken off the stream, and how much of it was parsed.
    piece: (Vec<u8>, usize),
}

struct Shared {
    state: Mutex<State>,
    /// For whoever receives from a stream, and, of any stream, for who waits until everything is sent.
    changed: [Condvar; 2],
}

struct State {
    /// None after the end.
    outbox: Option<Box<dyn Outbox>>,
    lanes: [Lane; 2],
    failure: Option<LineError>,
    open_ends: usize,
}

/// One stream's two directions.
struct Lane {
    outgoing: Outgoing,
    incoming: Incoming,
    /// Whether this party still reads it.
    is_read: bool,
}

#[derive(Default)]
struct Outgoing {
    waiting: VecDeque<Vec<u8>>,
    /// What of the first of `waiting` has left.
    front_sent: usize,
    sent: u64,
    granted: u64,
}

#[derive(Default)]
struct Incoming {
    pieces: VecDeque<Vec<u8>>,
    arrived: u64,
    consumed: u64,
    granted: u64,
}

impl Shared {
    fn new(outbox: Box<dyn Outbox>) -> Self {
        let lane = || Lane {
            outgoing: Outgoing { granted: FLIGHT_BYTES, ..Outgoing::default() },
            incoming: Incoming { granted: FLIGHT_BYTES, ..Incoming::default() },
            is_read: true,
        };
        let lanes = [lane(), lane()];
        let state = State { outbox: Some(outbox), lanes, failure: None, open_ends: 2 };
        Self { state: Mutex::new(state), changed: Default::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reader's thread.
    fn read(&self, mut inbox: impl Inbox) {
        loop {
            let received = inbox.receive(TICK);
            let mut state = self.lock();
            if state.open_ends == 0 || state.outbox.is_none() {
                return;
            }
            let outcome = match received {
                Ok(None) => continue,
                Ok(Some(chunk)) => state.take(chunk),
                Err(error) => Err(error),
            };
            if let Err(error) = &outcome {
                state.failure.get_or_insert_with(|| error.clone());
            }
            drop(state);
            self.wake();
            if outcome.is_err() {
                return;
            }
        }
    }

    fn wake(&self) {
        self.changed.iter().for_each(Condvar::notify_all);
    }

    /// Ends everything without waiting for what is queued.
    fn close(&self) {
        let mut state = self.lock();
        state.failure.get_or_insert(LineError::Closed);
        let outbox = state.outbox.take();
        drop(state);
        self.wake();
        drop(outbox); // says goodbye to the peer
    }

    /// Waits until all that was sent has left, at most for a while.
    fn flush(&self) {
        let until = Instant::now() + FLUSH_LIMIT;
        let mut state = self.lock();
        while state.failure.is_none() && state.lanes.iter().any(|lane| !lane.outgoing.is_empty()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed[0].wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    /// A chunk from the peer.
    fn take(&mut self, chunk: Chunk) -> Result<(), LineError> {
        match chunk {
            Chunk::Data(stream, bytes) => {
                let lane = &mut self.lanes[stream.number()];
                lane.incoming.put(bytes)?;
                if !lane.is_read {
                    lane.incoming.consume_all();
                }
                self.grant(stream);
            }
            Chunk::Grant(stream, until) => {
                let outgoing = &mut self.lanes[stream.number()].outgoing;
                if until < outgoing.granted {
                    return Err(LineError::Malformed("a grant was taken back".into()));
                }
                outgoing.granted = until;
                // a line that takes nothing any more may still have something to be read: the inbox says when it ends
                let _ = self.push(stream);
            }
        }
        Ok(())
    }

    /// Sends what of a stream is granted.
    fn push(&mut self, stream: Stream) -> Result<(), LineError> {
        while let Some(bytes) = self.lanes[stream.number()].outgoing.cut() {
            self.hand_over(Chunk::Data(stream, bytes))?;
        }
        Ok(())
    }

    /// Grants more of a stream if that is worth a chunk.
    fn grant(&mut self, stream: Stream) {
        let incoming = &mut self.lanes[stream.number()].incoming;
        let until = (incoming.consumed + BUFFER_BYTES).min(incoming.arrived + FLIGHT_BYTES);
        if until >= incoming.granted + GRANT_STEP_BYTES {
            incoming.granted = until;
            // as in `take`: whether the peer still listens is for the inbox to say
            let _ = self.hand_over(Chunk::Grant(stream, until));
        }
    }

    fn hand_over(&mut self, chunk: Chunk) -> Result<(), LineError> {
        self.outbox.as_mut().ok_or(LineError::Closed)?.send(chunk)
    }
}

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next chunk's content, as far as it is granted.
    fn cut(&mut self) -> Option<Vec<u8>> {
        let allowed = usize::try_from(self.granted.saturating_sub(self.sent)).unwrap_or(usize::MAX);
        let room = allowed.min(MAX_CHUNK_BYTES);
        let mut chunk = Vec::new();
        while chunk.len() < room {
            let Some(front) = self.waiting.front() else { break };
            let rest = &front[self.front_sent..];
            let count = rest.len().min(room - chunk.len());
            chunk.extend_from_slice(&rest[..count]);
            self.front_sent += count;
            if self.front_sent == front.len() {
                self.waiting.pop_front();
                self.front_sent = 0;
            }
        }
        self.sent += chunk.len() as u64;
        if chunk.is_empty() { None } else { Some(chunk) }
    }
}

impl Incoming {
    fn put(&mut self, bytes: Vec<u8>) -> Result<(), LineError> {
        self.arrived += bytes.len() as u64;
        if self.arrived > self.granted {
            return Err(LineError::Malformed("more was sent than was granted".into()));
        }
        match self.pieces.back_mut() {
            Some(last) if last.len() + bytes.len() <= SMALL_PIECE_BYTES => last.extend(bytes),
            _ => self.pieces.push_back(bytes),
        }
        Ok(())
    }

    fn consume(&mut self) -> Option<Vec<u8>> {
        let piece = self.pieces.pop_front()?;
        self.consumed += piece.len() as u64;
        Some(piece)
    }

    fn consume_all(&mut self) {
        while self.consume().is_some() {}
    }
}

impl StreamEnd {
    fn new(shared: Arc<Shared>, stream: Stream) -> Self {
        Self { shared, stream, parser: FrameParser::default(), piece: (Vec::new(), 0) }
    }

    /// The next piece of the stream; none if it does not come in time.
    fn next_piece(&self, until: Option<Instant>) -> Result<Option<Vec<u8>>, LineError> {
        let mut state = self.shared.lock();
        loop {
            if let Some(piece) = state.lanes[self.stream.number()].incoming.consume() {
                state.grant(self.stream);
                return Ok(Some(piece));
            }
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            let changed = &self.shared.changed[self.stream.number()];
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return Ok(None),
                Some(left) => {
                    changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Moves bytes of the piece into the frame under way.
    fn parse(&mut self, label: &'static str, at_most_bytes: usize) -> Result<(), LinkError> {
        while self.piece.1 < self.piece.0.len() && !self.parser.space().is_empty() {
            let rest = &self.piece.0[self.piece.1..];
            let space = self.parser.space();
            let count = rest.len().min(space.len());
            space[..count].copy_from_slice(&rest[..count]);
            self.piece.1 += count;
            self.parser.filled(count, at_most_bytes).map_err(|too_long| {
                self.shared.close();
                let got = usize::try_from(too_long.announced_bytes).unwrap_or(usize::MAX);
                LinkError::Size { label, expected: at_most_bytes, got }
            })?;
        }
        Ok(())
    }
}

impl Transport for StreamEnd {
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError> {
        let mut state = self.shared.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone().at(label));
        }
        let outgoing = &mut state.lanes[self.stream.number()].outgoing;
        outgoing.waiting.push_back(header(&frame).to_vec());
        if !frame.payload.is_empty() {
            outgoing.waiting.push_back(frame.payload);
        }
        state.push(self.stream).map_err(|error| error.at(label))
    }

    fn receive(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        let until = Instant::now().checked_add(deadline);
        loop {
            self.parse(label, at_most_bytes)?;
            if let Some(frame) = self.parser.take() {
                return Ok(frame);
            }
            let piece = self.next_piece(until).map_err(|error| error.at(label))?;
            self.piece = (piece.ok_or(LinkError::Timeout(deadline, label))?, 0);
        }
    }
}

/// What is sent to it from now on is thrown away. With the last stream the connection ends, once all has left.
impl Drop for StreamEnd {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let lane = &mut state.lanes[self.stream.number()];
        lane.is_read = false;
        lane.incoming.consume_all();
        state.grant(self.stream);
        let is_last = state.open_ends == 1;
        if !is_last {
            state.open_ends -= 1;
            return;
        }
        drop(state);
        self.shared.flush();
        self.shared.lock().open_ends = 0;
        self.shared.close();
    }
}

#[cfg(test)]
mod tests;

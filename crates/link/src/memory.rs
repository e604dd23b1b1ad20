//! Two parties in one process: frames, or the chunks of a line, pass through queues in memory.

use crate::{
    Channel, Chunk, Closer, Duplex, Frame, Inbox, LineError, Link, LinkError, Outbox, Party,
    Streams, Transport,
};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One end of one stream.
pub struct Memory {
    outgoing: Arc<Pipe<Frame>>,
    incoming: Arc<Pipe<Frame>>,
}

/// The two ends of one stream.
pub fn pair() -> (Memory, Memory) {
    let (up, down) = (Arc::<Pipe<Frame>>::default(), Arc::<Pipe<Frame>>::default());
    let server = Memory { outgoing: Arc::clone(&down), incoming: Arc::clone(&up) };
    (server, Memory { outgoing: up, incoming: down })
}

/// Channels of a server and a client, one stream that is connected in memory.
pub fn channels() -> (Channel, Channel) {
    let (server, client) = pair();
    (Channel::new(Party::Server, Box::new(server)), Channel::new(Party::Client, Box::new(client)))
}

/// The two ends of a connection in memory. Its streams have queues of their own: there is no line that they share.
pub fn streams() -> (Streams, Streams) {
    let (answers, preparations) = (pair(), pair());
    let pipes = [&answers.0, &preparations.0].map(Memory::pipes);
    let closer = Closer::new(move || pipes.iter().flatten().for_each(|pipe| pipe.close()));
    let end = |answer, prepare| Streams {
        answer: Box::new(answer),
        prepare: Box::new(prepare),
        closer: closer.clone(),
    };
    (end(answers.0, preparations.0), end(answers.1, preparations.1))
}

/// The links of a server and a client that are connected in memory.
pub fn links() -> (Link, Link) {
    let (server, client) = streams();
    (Link::new(Party::Server, server), Link::new(Party::Client, client))
}

/// The two ends of a line in memory.
pub fn lines() -> (MemoryLine, MemoryLine) {
    let (up, down) = (Arc::<Pipe<Chunk>>::default(), Arc::<Pipe<Chunk>>::default());
    let end = |outgoing: &Arc<Pipe<Chunk>>, incoming: &Arc<Pipe<Chunk>>| Duplex {
        outbox: MemoryOutbox(Arc::clone(outgoing)),
        inbox: MemoryInbox(Arc::clone(incoming)),
    };
    (end(&down, &up), end(&up, &down))
}

/// One end of a line in memory.
pub type MemoryLine = Duplex<MemoryOutbox, MemoryInbox>;

/// The sending half of a line in memory.
pub struct MemoryOutbox(Arc<Pipe<Chunk>>);

/// The receiving half of a line in memory.
pub struct MemoryInbox(Arc<Pipe<Chunk>>);

impl Memory {
    fn pipes(&self) -> [Arc<Pipe<Frame>>; 2] {
        [Arc::clone(&self.outgoing), Arc::clone(&self.incoming)]
    }
}

impl Transport for Memory {
    fn send(&mut self, label: &'static str, frame: Frame) -> Result<(), LinkError> {
        self.outgoing.push(frame).map_err(|error| error.at(label))
    }

    fn receive(
        &mut self,
        label: &'static str,
        _at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        let received = self.incoming.pop(deadline).map_err(|error| error.at(label))?;
        received.ok_or(LinkError::Timeout(deadline, label))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.outgoing.close();
        self.incoming.close();
    }
}

impl Outbox for MemoryOutbox {
    fn send(&mut self, chunk: Chunk) -> Result<(), LineError> {
        self.0.push(chunk)
    }
}

impl Inbox for MemoryInbox {
    fn receive(&mut self, wait: Duration) -> Result<Option<Chunk>, LineError> {
        self.0.pop(wait)
    }
}

impl Drop for MemoryOutbox {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Drop for MemoryInbox {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A queue that either end can close; what was pushed before can still be taken.
struct Pipe<T> {
    state: Mutex<(VecDeque<T>, bool)>,
    changed: Condvar,
}

impl<T> Default for Pipe<T> {
    fn default() -> Self {
        Self { state: Mutex::new((VecDeque::new(), false)), changed: Condvar::new() }
    }
}

impl<T> Pipe<T> {
    fn push(&self, item: T) -> Result<(), LineError> {
        let mut state = self.lock();
        if state.1 {
            return Err(LineError::Closed);
        }
        state.0.push_back(item);
        self.changed.notify_all();
        Ok(())
    }

    fn pop(&self, wait: Duration) -> Result<Option<T>, LineError> {
        let until = Instant::now().checked_add(wait);
        let mut state = self.lock();
        loop {
            if let Some(item) = state.0.pop_front() {
                return Ok(Some(item));
            }
            if state.1 {
                return Err(LineError::Closed);
            }
            let left = until.map_or(wait, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn close(&self) {
        self.lock().1 = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, (VecDeque<T>, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

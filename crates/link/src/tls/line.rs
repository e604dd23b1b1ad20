//! What the two halves of a connection share: the socket, the TLS state and the queue of what is to be sent.
//!
//! The socket is written by one background thread (see `outbox`) and read by another (see `inbox`). The TLS state is locked only for encryption and decryption, never while the socket is waited for: so both
//! parties can send at once, as much as they like.

use crate::{Chunk, Stream};
use rustls::Connection;
use std::collections::VecDeque;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// About as much is encrypted and written at a time.
pub(super) const WRITE_BYTES: usize = 128 * 1024;

pub(super) struct Line {
    pub(super) socket: TcpStream,
    tls: Mutex<Connection>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Goes first: grants and answers, whose messages are short and waited for.
    urgent: VecDeque<Chunk>,
    /// Preparations.
    bulk: VecDeque<Chunk>,
    /// rustls has something of its own to say (an alert, an answer to a key update).
    nudged: bool,
    outbox_dropped: bool,
    inbox_dropped: bool,
    /// The writer is done, or failed.
    finished: bool,
}

/// What the writer does next.
pub(super) enum Job {
    Send(Vec<Chunk>),
    Flush,
    Close,
}

impl Queue {
    /// What is written at once: the urgent chunks first, few enough that a new one does not wait long.
    fn next_chunks(&mut self) -> Vec<Chunk> {
        let (mut chunks, mut bytes) = (Vec::new(), 0);
        while bytes < WRITE_BYTES {
            let Some(chunk) = self.urgent.pop_front().or_else(|| self.bulk.pop_front()) else {
                break;
            };
            bytes += chunk.line_bytes();
            chunks.push(chunk);
        }
        chunks
    }
}

impl Line {
    pub(super) fn new(socket: TcpStream, tls: Connection) -> Self {
        let (queue, changed) = (Mutex::default(), Condvar::new());
        Self { socket, tls: Mutex::new(tls), queue, changed }
    }

    pub(super) fn tls(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False if the writer has ended.
    pub(super) fn push(&self, chunk: Chunk) -> bool {
        self.change(|queue| {
            match chunk {
                Chunk::Data(Stream::Prepare, _) => queue.bulk.push_back(chunk),
                _ => queue.urgent.push_back(chunk),
            }
            !queue.finished
        })
    }

    pub(super) fn nudge(&self) {
        self.change(|queue| queue.nudged = true);
    }

    pub(super) fn drop_inbox(&self) {
        self.change(|queue| queue.inbox_dropped = true);
    }

    pub(super) fn finish(&self) {
        self.change(|queue| {
            queue.finished = true;
            queue.urgent.clear();
            queue.bulk.clear();
        });
    }

    /// Asks the writer to send what is queued and close; false if it has not done so within the limit.
    pub(super) fn close(&self, limit: Duration) -> bool {
        self.change(|queue| queue.outbox_dropped = true);
        let until = Instant::now() + limit;
        self.wait(Some(until), |queue| queue.finished.then_some(())).is_some()
    }

    /// Waits for the writer's next job.
    pub(super) fn next_job(&self) -> Job {
        let job = self.wait(None, |queue| {
            let chunks = queue.next_chunks();
            if !chunks.is_empty() {
                return Some(Job::Send(chunks));
            }
            if std::mem::take(&mut queue.nudged) {
                return Some(Job::Flush);
            }
            queue.outbox_dropped.then_some(Job::Close)
        });
        job.unwrap_or(Job::Close)
    }

    /// Waits until no one will read from the socket any more.
    pub(super) fn wait_for_inbox_drop(&self) {
        self.wait(None, |queue| queue.inbox_dropped.then_some(()));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        let result = change(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
        result
    }

    /// Waits until `ready` gives something, at most until the given time.
    fn wait<T>(
        &self,
        until: Option<Instant>,
        mut ready: impl FnMut(&mut Queue) -> Option<T>,
    ) -> Option<T> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = ready(&mut queue) {
                return Some(result);
            }
            let Some(until) = until else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return None;
            }
            let waited = self.changed.wait_timeout(queue, remaining);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

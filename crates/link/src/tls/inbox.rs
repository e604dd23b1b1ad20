//! The receiving half, read by one thread (see [`crate::mux`]). It keeps less than a chunk and one read of the socket:
//! a peer that sends without end is stopped by the grants of its streams, not here.

use super::line::Line;
use crate::chunk::ChunkParser;
use crate::{Chunk, Inbox, LineError};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Read from the socket at a time.
const READ_BYTES: usize = 256 * 1024;

/// Taken from TLS at a time: its records hold no more.
const PLAIN_BYTES: usize = 16 * 1024;

/// The receiving half of a TLS connection.
pub struct TlsInbox {
    line: Arc<Line>,
    parser: ChunkParser,
    ciphertext: Vec<u8>,
    /// What of `ciphertext` has not been decrypted yet.
    pending: Range<usize>,
    failure: Option<LineError>,
}

impl TlsInbox {
    pub(super) fn new(line: Arc<Line>) -> Self {
        let ciphertext = vec![0; READ_BYTES];
        Self { line, parser: ChunkParser::default(), ciphertext, pending: 0..0, failure: None }
    }

    /// The next chunk of what has been read; the socket is read once if there is none.
    fn next_chunk(&mut self, wait: Duration) -> Result<Option<Chunk>, LineError> {
        loop {
            if let Some(chunk) = self.parser.next().map_err(LineError::Malformed)? {
                return Ok(Some(chunk));
            }
            if !self.decrypt()? && !self.read_socket(wait)? {
                return Ok(None);
            }
        }
    }

    /// Hands the parser the next plain bytes of what has been read; false if all of it is used up.
    fn decrypt(&mut self) -> Result<bool, LineError> {
        let line = Arc::clone(&self.line);
        let mut tls = line.tls();
        loop {
            match self.parser.fill(PLAIN_BYTES, |space| tls.reader().read(space)) {
                Ok(0) => return Err(LineError::Closed),
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(explain(&error)),
            }
            if self.pending.is_empty() {
                return Ok(false);
            }
            match tls.read_tls(&mut &self.ciphertext[self.pending.clone()]) {
                // bytes after the peer's goodbye
                Ok(0) => return Err(LineError::Closed),
                Ok(taken) => self.pending.start += taken,
                Err(error) => return Err(explain(&error)),
            }
            let processed = tls.process_new_packets();
            if tls.wants_write() {
                line.nudge();
            }
            processed.map_err(|error| {
                LineError::Malformed(format!("the encrypted stream is broken ({error})"))
            })?;
        }
    }

    /// False if nothing came in time.
    fn read_socket(&mut self, wait: Duration) -> Result<bool, LineError> {
        let mut socket = &self.line.socket;
        let read = socket.set_read_timeout(Some(wait));
        match read.and_then(|()| socket.read(&mut self.ciphertext)) {
            Ok(0) => Err(LineError::Closed),
            Ok(count) => {
                self.pending = 0..count;
                Ok(true)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(false),
                _ => Err(explain(&error)),
            },
        }
    }
}

impl Inbox for TlsInbox {
    fn receive(&mut self, wait: Duration) -> Result<Option<Chunk>, LineError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let received = self.next_chunk(wait);
        self.failure = received.as_ref().err().cloned();
        received
    }
}

impl Drop for TlsInbox {
    fn drop(&mut self) {
        self.line.drop_inbox();
    }
}

fn explain(error: &io::Error) -> LineError {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error.kind() {
        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => LineError::Closed,
        kind => LineError::Failed(kind),
    }
}

//! The receiving half. It reads only while a message is waited for: what a peer sends early stays in the operating
//! system's buffers and then in the peer, so an unasked flood costs this party no memory.

use super::line::Line;
use crate::wire::{FrameParser, TooLong};
use crate::{Frame, Inbox, LinkError};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Read from the socket at a time.
const READ_BYTES: usize = 256 * 1024;

/// The receiving half of a TLS connection. After any error but a timeout it stays closed.
pub struct TlsInbox {
    line: Arc<Line>,
    parser: FrameParser,
    ciphertext: Vec<u8>,
    /// What of `ciphertext` has not been decrypted yet.
    pending: Range<usize>,
    broken: bool,
}

/// One wait for a message.
#[derive(Clone, Copy)]
struct Wait {
    label: &'static str,
    at_most_bytes: usize,
    deadline: Duration,
    until: Option<Instant>,
}

impl TlsInbox {
    pub(super) fn new(line: Arc<Line>) -> Self {
        let ciphertext = vec![0; READ_BYTES];
        Self { line, parser: FrameParser::default(), ciphertext, pending: 0..0, broken: false }
    }

    fn next_frame(&mut self, wait: Wait) -> Result<Frame, LinkError> {
        loop {
            self.decrypt(wait)?;
            if let Some(frame) = self.parser.take() {
                return Ok(frame);
            }
            self.read_socket(wait)?;
        }
    }

    /// Decrypts what has been read, as far as the frame under way needs it.
    fn decrypt(&mut self, wait: Wait) -> Result<(), LinkError> {
        let line = Arc::clone(&self.line);
        let mut tls = line.tls();
        loop {
            self.parse(&mut tls.reader(), wait)?;
            if self.parser.space().is_empty() || self.pending.is_empty() {
                return Ok(());
            }
            let taken = tls.read_tls(&mut &self.ciphertext[self.pending.clone()]);
            match taken.map_err(|error| wait.explain(error))? {
                // bytes after the peer's goodbye
                0 => return Err(LinkError::Closed(wait.label)),
                taken => self.pending.start += taken,
            }
            let processed = tls.process_new_packets();
            if tls.wants_write() {
                line.nudge();
            }
            processed.map_err(|error| wait.explain_tls(&error))?;
        }
    }

    /// Moves decrypted bytes into the frame under way.
    fn parse(&mut self, plain: &mut rustls::Reader<'_>, wait: Wait) -> Result<(), LinkError> {
        while !self.parser.space().is_empty() {
            match plain.read(self.parser.space()) {
                Ok(0) => return Err(LinkError::Closed(wait.label)),
                Ok(count) => self
                    .parser
                    .filled(count, wait.at_most_bytes)
                    .map_err(|too_long| wait.refuse(&too_long))?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(wait.explain(error)),
            }
        }
        Ok(())
    }

    fn read_socket(&mut self, wait: Wait) -> Result<(), LinkError> {
        let remaining = wait.remaining()?;
        let mut socket = &self.line.socket;
        let read = socket.set_read_timeout(remaining);
        match read.and_then(|()| socket.read(&mut self.ciphertext)) {
            Ok(0) => Err(LinkError::Closed(wait.label)),
            Ok(count) => {
                self.pending = 0..count;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(wait.explain(error)),
        }
    }
}

impl Inbox for TlsInbox {
    fn receive(
        &mut self,
        label: &'static str,
        at_most_bytes: usize,
        deadline: Duration,
    ) -> Result<Frame, LinkError> {
        if self.broken {
            return Err(LinkError::Closed(label));
        }
        let until = Instant::now().checked_add(deadline);
        let received = self.next_frame(Wait { label, at_most_bytes, deadline, until });
        self.broken = !matches!(received, Ok(_) | Err(LinkError::Timeout(..)));
        received
    }
}

impl Drop for TlsInbox {
    fn drop(&mut self) {
        self.line.drop_inbox();
    }
}

impl Wait {
    /// What is left of it; none if it is too long for a clock.
    fn remaining(&self) -> Result<Option<Duration>, LinkError> {
        let remaining = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        match remaining {
            Some(Duration::ZERO) => Err(LinkError::Timeout(self.deadline, self.label)),
            remaining => Ok(remaining),
        }
    }

    fn refuse(&self, too_long: &TooLong) -> LinkError {
        let got = usize::try_from(too_long.announced_bytes).unwrap_or(usize::MAX);
        LinkError::Size { label: self.label, expected: self.at_most_bytes, got }
    }

    fn explain(&self, error: io::Error) -> LinkError {
        use ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock,
        };
        match error.kind() {
            WouldBlock | TimedOut => LinkError::Timeout(self.deadline, self.label),
            UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => {
                LinkError::Closed(self.label)
            }
            _ => LinkError::Io { label: self.label, source: error },
        }
    }

    fn explain_tls(&self, error: &rustls::Error) -> LinkError {
        let why = format!("the encrypted stream is broken ({error})");
        LinkError::Malformed { label: self.label, why }
    }
}

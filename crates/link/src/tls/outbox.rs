//! The sending half: a queue and a thread that encrypts and writes it.

use super::handshake::dismiss;
use super::line::{Job, Line, WRITE_BYTES};
use crate::{Chunk, LineError, Outbox};
use std::io::{self, IoSlice, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

/// How long dropping an outbox waits for the peer to take what was sent.
const FLUSH_LIMIT: Duration = Duration::from_secs(10);

/// How long the socket stays open, in the background, for the peer to read what it was sent last.
const LINGER_LIMIT: Duration = Duration::from_secs(2);

/// The sending half of a TLS connection. What is queued is bounded by what the peer granted. Dropping it sends what is queued and says goodbye, giving up after ten seconds.
pub struct TlsOutbox(Arc<Line>);

impl TlsOutbox {
    pub(super) fn start(line: Arc<Line>) -> io::Result<Self> {
        let writer = Arc::clone(&line);
        let thread = std::thread::Builder::new().name("link writer".into());
        thread.spawn(move || write(&writer))?;
        Ok(Self(line))
    }
}

impl Outbox for TlsOutbox {
    fn send(&mut self, chunk: Chunk) -> Result<(), LineError> {
        if self.0.push(chunk) { Ok(()) } else { Err(LineError::Closed) }
    }
}

impl Drop for TlsOutbox {
    fn drop(&mut self) {
        if !self.0.close(FLUSH_LIMIT) {
            // wakes the writer out of its write
            let _ = self.0.socket.shutdown(Shutdown::Both);
        }
    }
}

/// The writer's thread.
fn write(line: &Line) {
    let written = write_queue(line, &mut Vec::with_capacity(2 * WRITE_BYTES));
    line.finish();
    if written.is_ok() {
        let _ = line.socket.shutdown(Shutdown::Write);
        line.wait_for_inbox_drop();
        dismiss(&line.socket, LINGER_LIMIT);
    }
}

fn write_queue(line: &Line, ciphertext: &mut Vec<u8>) -> io::Result<()> {
    loop {
        match line.next_job() {
            Job::Send(chunks) => write_chunks(line, &chunks, ciphertext)?,
            Job::Flush => write_ciphertext(line, ciphertext, |_| Ok(()))?,
            Job::Close => {
                return write_ciphertext(line, ciphertext, |tls| {
                    tls.send_close_notify();
                    Ok(())
                });
            }
        }
    }
}

fn write_chunks(line: &Line, chunks: &[Chunk], ciphertext: &mut Vec<u8>) -> io::Result<()> {
    let heads: Vec<Vec<u8>> = chunks.iter().map(Chunk::head).collect();
    let both = heads.iter().zip(chunks).flat_map(|(head, chunk)| [head.as_slice(), chunk.body()]);
    let mut parts: Vec<IoSlice<'_>> =
        both.filter(|part| !part.is_empty()).map(IoSlice::new).collect();
    let mut rest = &mut parts[..];
    while !rest.is_empty() {
        write_ciphertext(line, ciphertext, |tls| {
            // takes at most the buffer limit, WRITE_BYTES
            let taken = tls.writer().write_vectored(rest)?;
            IoSlice::advance_slices(&mut rest, taken);
            Ok(())
        })?;
    }
    Ok(())
}

/// Lets `fill` hand plain bytes to TLS and writes all that TLS then has to say.
fn write_ciphertext(
    line: &Line,
    ciphertext: &mut Vec<u8>,
    fill: impl FnOnce(&mut rustls::Connection) -> io::Result<()>,
) -> io::Result<()> {
    ciphertext.clear();
    let mut tls = line.tls();
    fill(&mut tls)?;
    while tls.wants_write() {
        tls.write_tls(ciphertext)?;
    }
    drop(tls);
    (&line.socket).write_all(ciphertext)
}

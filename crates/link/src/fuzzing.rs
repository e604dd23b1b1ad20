//! The parsers of chunks and of frames and the tags of labels, opened to the tests of `crates/hostile`.

use crate::chunk::ChunkParser;
use crate::wire::FrameParser;
use crate::{Chunk, Frame};

/// The frames of a stream that arrives in pieces, until one announces more than `at_most_bytes`; and whether one did.
pub fn frames(mut stream: &[u8], piece_bytes: usize, at_most_bytes: usize) -> (Vec<Frame>, bool) {
    let (mut parser, mut frames) = (FrameParser::default(), Vec::new());
    loop {
        frames.extend(parser.take());
        let space = parser.space();
        let count = piece_bytes.max(1).min(space.len()).min(stream.len());
        if stream.is_empty() {
            return (frames, false);
        }
        let (piece, rest) = stream.split_at(count);
        space[..count].copy_from_slice(piece);
        stream = rest;
        if parser.filled(count, at_most_bytes).is_err() {
            return (frames, true);
        }
    }
}

/// The chunks of a line that arrives in pieces, until one is malformed; and whether one was.
pub fn chunks(mut line: &[u8], piece_bytes: usize) -> (Vec<Chunk>, bool) {
    let (mut parser, mut chunks) = (ChunkParser::default(), Vec::new());
    loop {
        loop {
            match parser.next() {
                Ok(Some(chunk)) => chunks.push(chunk),
                Ok(None) => break,
                Err(_) => return (chunks, true),
            }
        }
        let room = piece_bytes.max(1);
        let taken = parser.fill(room, |space| std::io::Read::read(&mut line, space));
        if !matches!(taken, Ok(1..)) {
            return (chunks, false);
        }
    }
}

/// The tag of a label's frames.
pub fn tag(label: &str) -> u32 {
    crate::channel::label_tag(label)
}

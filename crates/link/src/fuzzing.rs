//! The parser of frames and the tags of labels, opened to the tests of `crates/hostile`.

use crate::Frame;
use crate::wire::FrameParser;

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

/// The tag of a label's frames.
pub fn tag(label: &str) -> u32 {
    crate::channel::label_tag(label)
}

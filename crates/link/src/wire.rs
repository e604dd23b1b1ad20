//! Frames as bytes (docs/spec/wire.md): a header of fixed size, then the payload.

use crate::Frame;

/// Tag, depth (4 bytes each) and payload length (8 bytes), little endian.
pub(crate) const HEADER_BYTES: usize = 16;

/// The header of a frame with this payload.
pub(crate) fn header(frame: &Frame) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..4].copy_from_slice(&frame.tag.to_le_bytes());
    bytes[4..8].copy_from_slice(&frame.depth.to_le_bytes());
    bytes[8..].copy_from_slice(&(frame.payload.len() as u64).to_le_bytes());
    bytes
}

/// A peer announced more bytes than the protocol's next message may have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong {
    pub(crate) announced_bytes: u64,
}

/// Puts frames together from a stream that arrives in pieces of any size.
///
/// The owner writes into [`Self::space`] and reports how much with [`Self::filled`]. A payload is allocated only
/// after its announced length passed the check, so a peer cannot make this party reserve memory at will.
#[derive(Default)]
pub(crate) struct FrameParser {
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    body: Option<Body>,
}

struct Body {
    frame: Frame,
    filled: usize,
}

impl FrameParser {
    /// Where the stream's next bytes belong; empty exactly when a frame is complete.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        match &mut self.body {
            Some(body) => &mut body.frame.payload[body.filled..],
            None => &mut self.header[self.header_filled..],
        }
    }

    /// Takes note of `count` bytes written at the start of `space`, the payload being limited to `at_most_bytes`.
    pub(crate) fn filled(&mut self, count: usize, at_most_bytes: usize) -> Result<(), TooLong> {
        if let Some(body) = &mut self.body {
            body.filled += count;
            return Ok(());
        }
        self.header_filled += count;
        if self.header_filled == HEADER_BYTES {
            self.body = Some(self.start_body(at_most_bytes)?);
        }
        Ok(())
    }

    /// The frame, once it is complete; the parser is then ready for the next one.
    pub(crate) fn take(&mut self) -> Option<Frame> {
        let body = self.body.take_if(|body| body.filled == body.frame.payload.len())?;
        self.header_filled = 0;
        Some(body.frame)
    }

    fn start_body(&self, at_most_bytes: usize) -> Result<Body, TooLong> {
        let (tag, rest) = split::<4>(&self.header);
        let (depth, length) = split::<4>(rest);
        let announced_bytes = u64::from_le_bytes(split::<8>(length).0);
        match usize::try_from(announced_bytes) {
            Ok(length) if length <= at_most_bytes => {
                let (tag, depth) = (u32::from_le_bytes(tag), u32::from_le_bytes(depth));
                Ok(Body { frame: Frame { tag, depth, payload: vec![0; length] }, filled: 0 })
            }
            _ => Err(TooLong { announced_bytes }),
        }
    }
}

/// The first `N` bytes (zeros where there are fewer) and the rest.
fn split<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    bytes.split_first_chunk().map_or(([0; N], &[]), |(first, rest)| (*first, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(frame: &Frame) -> Vec<u8> {
        [header(frame).as_slice(), &frame.payload].concat()
    }

    /// Feeds the stream in pieces of the given sizes (repeated as needed); the frames and the error that ended it.
    fn parse(
        mut stream: &[u8],
        pieces: &[usize],
        at_most_bytes: usize,
    ) -> (Vec<Frame>, Option<TooLong>) {
        let mut parser = FrameParser::default();
        let mut frames = Vec::new();
        for piece in pieces.iter().cycle() {
            frames.extend(parser.take());
            let space = parser.space();
            let count = (*piece).max(1).min(space.len()).min(stream.len());
            if stream.is_empty() {
                break;
            }
            space[..count].copy_from_slice(&stream[..count]);
            stream = &stream[count..];
            if let Err(error) = parser.filled(count, at_most_bytes) {
                return (frames, Some(error));
            }
        }
        frames.extend(parser.take());
        (frames, None)
    }

    /// The same, written down from docs/spec/wire.md over a stream that is all there.
    fn expected(mut stream: &[u8], at_most_bytes: usize) -> (Vec<Frame>, Option<TooLong>) {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, b| sum << 8 | u64::from(*b));
        let mut frames = Vec::new();
        while stream.len() >= 16 {
            let (head, rest) = stream.split_at(16);
            let length = word(&head[8..]);
            if length > at_most_bytes as u64 {
                return (frames, Some(TooLong { announced_bytes: length }));
            }
            if length > rest.len() as u64 {
                break;
            }
            let (payload, rest) = rest.split_at(length as usize);
            let (tag, depth) = (word(&head[..4]) as u32, word(&head[4..8]) as u32);
            frames.push(Frame { tag, depth, payload: payload.to_vec() });
            stream = rest;
        }
        (frames, None)
    }

    #[test]
    fn the_header_is_little_endian() {
        let frame = Frame { tag: 0x0403_0201, depth: 0x0807_0605, payload: vec![0; 0x0201] };
        assert_eq!(header(&frame), [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_huge_announced_length_is_refused_before_anything_is_allocated() {
        let mut stream = [0u8; 16];
        stream[8..].fill(0xff);
        assert_eq!(parse(&stream, &[16], 1 << 30).1, Some(TooLong { announced_bytes: u64::MAX }));
    }

    proptest! {
        #[test]
        fn frames_survive_any_cut_of_the_stream(
            frames in prop::collection::vec((any::<u32>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..50)), 0..6),
            pieces in prop::collection::vec(1usize..40, 1..8),
        ) {
            let frames: Vec<Frame> =
                frames.into_iter().map(|(tag, depth, payload)| Frame { tag, depth, payload }).collect();
            let stream: Vec<u8> = frames.iter().flat_map(encoded).collect();
            prop_assert_eq!(parse(&stream, &pieces, 50), (frames, None));
        }

        #[test]
        fn any_bytes_parse_as_the_specification_says(
            mut stream in prop::collection::vec(any::<u8>(), 0..300),
            short_lengths in any::<bool>(),
            pieces in prop::collection::vec(1usize..40, 1..8),
            at_most_bytes in 0usize..64,
        ) {
            if short_lengths {
                // random lengths are nearly all too long: zeros make some headers pass
                stream.iter_mut().for_each(|byte| if *byte > 40 { *byte = 0 });
            }
            prop_assert_eq!(parse(&stream, &pieces, at_most_bytes), expected(&stream, at_most_bytes));
        }
    }
}

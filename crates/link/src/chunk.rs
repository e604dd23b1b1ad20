//! Pieces of streams as bytes (docs/spec/wire.md, section 3): a header of fixed size, then the content.

/// One of the two streams of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The handshake, then the answers.
    Answer,
    /// Preparations.
    Prepare,
}

/// What passes over a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// The next bytes of a stream.
    Data(Stream, Vec<u8>),
    /// The receiver of a stream takes its bytes up to this many since it began.
    Grant(Stream, u64),
}

/// Stream, kind (one byte each), zero (2 bytes) and length of the content (4 bytes), little endian.
pub(crate) const CHUNK_HEADER_BYTES: usize = 8;

/// Largest content of a chunk: one stream never holds the line for long.
pub(crate) const MAX_CHUNK_BYTES: usize = 64 * 1024;

const DATA: u8 = 0;
const GRANT: u8 = 1;
const GRANT_BYTES: usize = 8;

impl Stream {
    /// Both, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Answer, Self::Prepare];

    /// As on the wire.
    pub(crate) fn number(self) -> usize {
        self as usize
    }
}

impl Chunk {
    /// Its header and, of a grant, its content; of data, the content follows.
    pub(crate) fn head(&self) -> Vec<u8> {
        let (stream, kind, length) = match self {
            Self::Data(stream, bytes) => (stream, DATA, bytes.len()),
            Self::Grant(stream, _) => (stream, GRANT, GRANT_BYTES),
        };
        let mut head = vec![stream.number() as u8, kind, 0, 0];
        head.extend_from_slice(&(length as u32).to_le_bytes());
        if let Self::Grant(_, until) = self {
            head.extend_from_slice(&until.to_le_bytes());
        }
        head
    }

    /// The content of data.
    pub(crate) fn body(&self) -> &[u8] {
        if let Self::Data(_, bytes) = self { bytes } else { &[] }
    }

    /// How much of a line it takes.
    pub(crate) fn line_bytes(&self) -> usize {
        CHUNK_HEADER_BYTES + if let Self::Data(_, bytes) = self { bytes.len() } else { GRANT_BYTES }
    }
}

/// Puts chunks together from bytes that arrive in pieces of any size. It holds what came with the last piece and less
/// than one chunk more.
#[derive(Default)]
pub(crate) struct ChunkParser {
    bytes: Vec<u8>,
    /// What of `bytes` belongs to chunks that were taken.
    taken: usize,
}

impl ChunkParser {
    /// Appends at most `room` bytes, which `fill` writes to the front of the space it gets.
    pub fn fill<E>(
        &mut self,
        room: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        let filled = self.bytes.len();
        self.bytes.resize(filled + room, 0);
        let outcome = fill(&mut self.bytes[filled..]);
        self.bytes.truncate(filled + outcome.as_ref().map_or(0, |&count| count.min(room)));
        outcome
    }

    /// The next chunk, once it is complete; the error says what is wrong with its header.
    pub fn next(&mut self) -> Result<Option<Chunk>, String> {
        let rest = &self.bytes[self.taken..];
        let Some((header, rest)) = rest.split_first_chunk::<CHUNK_HEADER_BYTES>() else {
            return Ok(None);
        };
        let [stream, kind, zero_0, zero_1, length @ ..] = *header;
        let length = u32::from_le_bytes(length) as usize;
        let stream = Stream::ALL.get(usize::from(stream)).copied();
        let stream = stream.filter(|_| [zero_0, zero_1] == [0, 0]).ok_or("an unknown stream")?;
        let fits = match kind {
            DATA => (1..=MAX_CHUNK_BYTES).contains(&length),
            GRANT => length == GRANT_BYTES,
            _ => return Err("an unknown kind of chunk".into()),
        };
        if !fits {
            return Err(format!("a chunk of {length} bytes"));
        }
        let Some(content) = rest.get(..length) else { return Ok(None) };
        let chunk = match content.first_chunk() {
            Some(until) if kind == GRANT => Chunk::Grant(stream, u64::from_le_bytes(*until)),
            _ => Chunk::Data(stream, content.to_vec()),
        };
        self.taken += CHUNK_HEADER_BYTES + length;
        Ok(Some(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(chunk: &Chunk) -> Vec<u8> {
        [&chunk.head(), chunk.body()].concat()
    }

    /// Feeds the bytes in pieces of the given sizes (repeated as needed).
    fn parse(mut bytes: &[u8], pieces: &[usize]) -> (Vec<Chunk>, Option<String>) {
        let (mut parser, mut chunks) = (ChunkParser::default(), Vec::new());
        for piece in pieces.iter().cycle() {
            loop {
                match parser.next() {
                    Ok(Some(chunk)) => chunks.push(chunk),
                    Ok(None) => break,
                    Err(error) => return (chunks, Some(error)),
                }
            }
            let (now, later) = bytes.split_at((*piece).min(bytes.len()));
            if now.is_empty() {
                break;
            }
            let fill = |space: &mut [u8]| -> Result<usize, ()> {
                space[..now.len()].copy_from_slice(now);
                Ok(now.len())
            };
            assert_eq!(parser.fill(*piece, fill), Ok(now.len()));
            bytes = later;
        }
        (chunks, None)
    }

    fn any_chunk() -> impl Strategy<Value = Chunk> {
        let stream = prop::sample::select(&Stream::ALL[..]);
        let data = prop::collection::vec(any::<u8>(), 1..60);
        (stream, any::<bool>(), data, any::<u64>()).prop_map(|(stream, is_data, bytes, until)| {
            if is_data { Chunk::Data(stream, bytes) } else { Chunk::Grant(stream, until) }
        })
    }

    #[test]
    fn a_chunk_is_written_as_specified() {
        let data = Chunk::Data(Stream::Prepare, vec![7; 0x0201]);
        assert_eq!(encoded(&data)[..9], [1, 0, 0, 0, 1, 2, 0, 0, 7]);
        assert_eq!(data.line_bytes(), encoded(&data).len());
        let grant = Chunk::Grant(Stream::Answer, 0x0203);
        assert_eq!(encoded(&grant), [0, 1, 0, 0, 8, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(grant.line_bytes(), encoded(&grant).len());
    }

    #[test]
    fn headers_that_no_peer_of_ours_writes_are_refused() {
        let refused = |header: [u8; 8]| parse(&header, &[8]).1.is_some();
        assert!(!refused([1, 0, 0, 0, 1, 0, 0, 0]));
        assert!(!refused([1, 0, 0, 0, 0, 0, 1, 0]), "64 KiB");
        for header in [
            [2, 0, 0, 0, 1, 0, 0, 0],
            [0, 2, 0, 0, 1, 0, 0, 0],
            [0, 0, 1, 0, 1, 0, 0, 0],
            [0, 0, 0, 1, 1, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 0, 1, 0],
            [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff],
            [0, 1, 0, 0, 7, 0, 0, 0],
            [0, 1, 0, 0, 9, 0, 0, 0],
        ] {
            assert!(refused(header), "{header:?}");
        }
    }

    proptest! {
        #[test]
        fn chunks_survive_any_cut_of_the_line(
            chunks in prop::collection::vec(any_chunk(), 0..6),
            pieces in prop::collection::vec(1usize..40, 1..8),
        ) {
            let bytes: Vec<u8> = chunks.iter().flat_map(encoded).collect();
            prop_assert_eq!(parse(&bytes, &pieces), (chunks, None));
        }

        #[test]
        fn any_bytes_are_chunks_or_one_error(
            mut bytes in prop::collection::vec(any::<u8>(), 0..300),
            pieces in prop::collection::vec(1usize..40, 1..8),
        ) {
            // random headers are nearly all refused: small bytes make some of them pass
            bytes.iter_mut().for_each(|byte| if *byte > 8 { *byte = 0 });
            let (chunks, error) = parse(&bytes, &pieces);
            let understood: Vec<u8> = chunks.iter().flat_map(encoded).collect();
            prop_assert_eq!(&bytes[..understood.len()], &understood);
            let left = bytes.len() - understood.len();
            prop_assert!(error.is_some() || left < CHUNK_HEADER_BYTES + MAX_CHUNK_BYTES);
        }
    }
}

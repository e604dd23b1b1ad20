//! Fuzz targets: every reader of what a peer sends, from bytes to a typed error or a value.

use degreespar_lattice::{ClientKeys, ProductShape, ServerKeys, SlotShape, WeightKind, Weights};
use degreespar_link::tls::{Fingerprint, Identity};
use degreespar_link::{Chunk, Duplex, Frame, Inbox, LineError, Outbox, Streams};
use degreespar_ring::{Ring, unpack, unpack_bits};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::sync::OnceLock;
use std::time::Duration;

/// A target: its name and what it does with an input. It must return, whatever the input is.
pub struct Target {
    /// For the command line.
    pub name: &'static str,
    /// Reads one input.
    pub run: fn(&[u8]),
    /// Longest input that makes sense.
    pub most_bytes: usize,
    /// Inputs of the short pass: fewer for slow readers.
    pub fixed_inputs: usize,
}

/// All targets.
pub const TARGETS: [Target; 13] = [
    Target { name: "chunks", run: chunks, most_bytes: 300, fixed_inputs: 4000 },
    Target { name: "frames", run: frames, most_bytes: 300, fixed_inputs: 4000 },
    Target { name: "mux", run: mux, most_bytes: 600, fixed_inputs: 300 },
    Target { name: "pem", run: pem, most_bytes: 2000, fixed_inputs: 1000 },
    Target { name: "packed", run: packed, most_bytes: 600, fixed_inputs: 4000 },
    Target { name: "ot_base", run: ot_base, most_bytes: 192, fixed_inputs: 400 },
    Target { name: "ot_extend", run: ot_extend, most_bytes: 2000, fixed_inputs: 50 },
    Target { name: "ot_trees", run: ot_trees, most_bytes: 4000, fixed_inputs: 20 },
    Target { name: "lattice_keys", run: lattice_keys, most_bytes: 4000, fixed_inputs: 20 },
    Target { name: "lattice_request", run: lattice_request, most_bytes: 4000, fixed_inputs: 30 },
    Target { name: "lattice_reply", run: lattice_reply, most_bytes: 4000, fixed_inputs: 60 },
    Target { name: "slots", run: slots, most_bytes: 4000, fixed_inputs: 30 },
    Target { name: "primitive", run: primitive, most_bytes: 400, fixed_inputs: 1500 },
];

/// Sound inputs to start from.
pub fn seeds(name: &str) -> Vec<Vec<u8>> {
    match name {
        "chunks" => vec![
            vec![3, 1, 0, 0, 0, 2, 0, 0, 0, 7, 7],
            [[9, 0, 1, 0, 0, 8, 0, 0, 0].as_slice(), &[0xff; 8]].concat(),
        ],
        "frames" => vec![[[16, 9].as_slice(), &[1, 2, 3, 4, 1, 0, 0, 0, 2], &[0; 9]].concat()],
        // a grant, then a frame of two bytes on either stream
        "mux" => {
            let frame = [9, 8, 7, 6, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 5, 5];
            let data = |stream| [[stream, 0, 0, 0, 18, 0, 0, 0].as_slice(), &frame].concat();
            let grant = [1, 1, 0, 0, 8, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0];
            vec![[grant.as_slice(), &data(0), &data(1)].concat()]
        }
        "pem" => Identity::generate("seed").map_or(Vec::new(), |identity| {
            vec![[identity.certificate_pem(), "\0", identity.key_pem()].concat().into_bytes()]
        }),
        // the generator of ristretto255 (RFC 9496, appendix A.1), as a public key and as offers
        "ot_base" => vec![GENERATOR.repeat(4), GENERATOR.repeat(2), GENERATOR.to_vec()],
        "primitive" => (0..24).map(|which| vec![which, which / 12, 20, 7, 99, 1, 90, 13]).collect(),
        _ => vec![vec![1, 2, 3, 4, 5, 6, 7, 8]],
    }
}

const GENERATOR: [u8; 32] = [
    0xe2, 0xf2, 0xae, 0x0a, 0x6a, 0xbc, 0x4e, 0x71, 0xa8, 0x84, 0xa9, 0x61, 0xc5, 0x00, 0x51, 0x5f,
    0x58, 0xe3, 0x0b, 0x6a, 0xa5, 0x82, 0xdd, 0x8d, 0xb6, 0xa6, 0x59, 0x45, 0xe0, 0x8d, 0x2d, 0x76,
];

fn chunks(input: &[u8]) {
    let Some((&piece, line)) = input.split_first() else { return };
    let (chunks, _) = degreespar_link::fuzzing::chunks(line, usize::from(piece));
    let content = |chunk: &Chunk| if let Chunk::Data(_, bytes) = chunk { bytes.len() } else { 8 };
    assert!(chunks.iter().map(|chunk| 8 + content(chunk)).sum::<usize>() <= line.len());
}

fn frames(input: &[u8]) {
    let Some((&[piece, limit], stream)) = input.split_first_chunk() else { return };
    let (frames, _) =
        degreespar_link::fuzzing::frames(stream, usize::from(piece), usize::from(limit));
    assert!(frames.iter().all(|frame| frame.payload.len() <= usize::from(limit)));
}

/// A line that says what its input says, then ends.
struct Said(std::vec::IntoIter<Chunk>);

impl Inbox for Said {
    fn receive(&mut self, _wait: Duration) -> Result<Option<Chunk>, LineError> {
        self.0.next().map(Some).ok_or(LineError::Closed)
    }
}

/// A peer that takes everything.
struct Heard;

impl Outbox for Heard {
    fn send(&mut self, _chunk: Chunk) -> Result<(), LineError> {
        Ok(())
    }
}

fn mux(input: &[u8]) {
    let (chunks, _) = degreespar_link::fuzzing::chunks(input, input.len());
    let line = Duplex { outbox: Heard, inbox: Said(chunks.into_iter()) };
    let Ok(Streams { answer, prepare, .. }) = degreespar_link::mux::streams(line) else { return };
    for mut stream in [answer, prepare] {
        drop(stream.send("own", Frame { tag: 1, depth: 1, payload: vec![7; 100] }));
        while let Ok(frame) = stream.receive("any", 64, Duration::from_secs(5)) {
            assert!(frame.payload.len() <= 64);
        }
    }
}

fn pem(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (certificate, key) = text.split_once('\0').unwrap_or((&text, &text));
    drop(Fingerprint::of_pem(certificate));
    drop(Identity::from_pem(certificate, key));
    if let Ok(fingerprint) = text.parse::<Fingerprint>() {
        assert_eq!(fingerprint.to_string(), text.to_ascii_lowercase());
    }
}

fn packed(input: &[u8]) {
    let Some((&[width, count], bytes)) = input.split_first_chunk() else { return };
    let (count, Ok(ring)) = (usize::from(count), Ring::new(u32::from(width))) else { return };
    if let Ok(values) = unpack(ring, bytes, count) {
        assert!(values.len() == count && values.iter().all(|&v| v == ring.reduce(v)));
    }
    if let Ok(bits) = unpack_bits(bytes, count) {
        assert!(bits.len() == count && bits.iter().all(|&bit| bit < 2));
    }
}

fn ot_base(input: &[u8]) {
    drop(degreespar_ot::fuzzing::base(input));
}

fn ot_extend(input: &[u8]) {
    assert_eq!(degreespar_ot::fuzzing::extend(input), 64);
}

fn ot_trees(input: &[u8]) {
    assert!(degreespar_ot::fuzzing::trees(input) > 0);
}

fn primitive(input: &[u8]) {
    drop(degreespar_protocol::fuzzing::primitive(input));
}

/// A pair of parties' keys, made once.
fn keys() -> Option<&'static (ClientKeys, ServerKeys)> {
    static KEYS: OnceLock<Option<(ClientKeys, ServerKeys)>> = OnceLock::new();
    let make = || {
        let (client, message) = ClientKeys::generate(&mut rng());
        ServerKeys::parse(&message).ok().map(|server| (client, server))
    };
    KEYS.get_or_init(make).as_ref()
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([9; 32])
}

/// The input as often as it takes, or as it is if its first byte says so.
fn sized(input: &[u8], bytes: usize) -> Vec<u8> {
    match input.split_first() {
        Some((0xfe, rest)) => rest.to_vec(),
        Some((_, rest)) if !rest.is_empty() => rest.iter().copied().cycle().take(bytes).collect(),
        _ => vec![0; bytes],
    }
}

fn lattice_keys(input: &[u8]) {
    drop(ServerKeys::parse(&sized(input, ClientKeys::public_bytes())));
}

/// A shape of each kind of parameters, chosen by the first byte.
fn shape(input: &[u8]) -> Option<(ProductShape, &[u8])> {
    let (&choice, rest) = input.split_first()?;
    let (bits, kind) = [
        (8, WeightKind::Narrow),
        (37, WeightKind::Narrow),
        (48, WeightKind::Narrow),
        (64, WeightKind::Narrow),
        (20, WeightKind::Wide),
        (44, WeightKind::Wide),
    ][usize::from(choice) % 6];
    let shape = ProductShape::new(3, 5, 2, Ring::new(bits).ok()?, kind).ok()?;
    Some((shape, rest))
}

fn lattice_request(input: &[u8]) {
    let (Some((shape, rest)), Some((_, server))) = (shape(input), keys()) else { return };
    let (narrow, wide) = ([3; 10], [5; 10]);
    let weights = match shape.weight() {
        WeightKind::Narrow => Weights::Narrow(&narrow),
        WeightKind::Wide => Weights::Wide(&wide),
    };
    let reply = server.reply(&shape, &sized(rest, shape.request_bytes()), weights, &mut rng());
    if let Ok((reply, share)) = reply {
        assert_eq!((reply.len(), share.len()), (shape.reply_bytes(), 6));
    }
}

fn lattice_reply(input: &[u8]) {
    let (Some((shape, rest)), Some((client, _))) = (shape(input), keys()) else { return };
    if let Ok(share) = client.finish(&shape, &sized(rest, shape.reply_bytes())) {
        assert!(share.iter().all(|&v| v == shape.ring().reduce(v)));
    }
}

fn slots(input: &[u8]) {
    let (Some((&choice, rest)), Some((client, server))) = (input.split_first(), keys()) else {
        return;
    };
    let (bits, terms) = [(20, 1), (28, 2), (37, 1), (40, 2)][usize::from(choice) % 4];
    let Ok(shape) = Ring::new(bits).map(|ring| SlotShape::new(3, terms, ring)) else { return };
    let Ok(shape) = shape else { return };
    let (request, reply) = (sized(rest, shape.request_bytes()), sized(rest, shape.reply_bytes()));
    let vectors: Vec<&[u64]> = vec![&[1, 2, 3]; terms];
    drop(server.reply_slots(&shape, &request, &vectors, &mut rng()));
    drop(client.finish_slots(&shape, &reply));
}

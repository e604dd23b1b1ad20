//! Whole products against plain integers.

use crate::keys::SetKeys;
use crate::{ClientKeys, LatticeError, ProductShape, ServerKeys, WeightKind, Weights};
use degreespar_ring::{Ring, matmul};
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};
use std::num::NonZeroUsize;
use std::sync::OnceLock;

mod noise;

type Outcome = Result<(), Box<dyn std::error::Error>>;

pub(crate) struct Parties {
    pub(crate) client: ClientKeys,
    pub(crate) server: ServerKeys,
    message: Vec<u8>,
}

pub(crate) fn parties() -> &'static Parties {
    static PARTIES: OnceLock<Parties> = OnceLock::new();
    PARTIES.get_or_init(|| {
        let (client, message) = ClientKeys::generate(&mut rng(0));
        let server = ServerKeys::parse(&message).expect("an honest message");
        Parties { client, server, message }
    })
}

/// An honest client's keys, for tests of single modules.
pub(crate) fn any_set_keys() -> &'static SetKeys {
    parties().server.set(&shape(1, 1, 1, 37, WeightKind::Narrow))
}

pub(crate) fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn shape(rows: usize, inner: usize, cols: usize, bits: u32, weight: WeightKind) -> ProductShape {
    ProductShape::new(rows, inner, cols, Ring::new(bits).expect("a ring"), weight).expect("fits")
}

/// Runs one product and compares the sum of the shares with the plain product; returns the shares.
fn check(shape: &ProductShape, matrix: &[u64], weights: &[u64]) -> [Vec<u64>; 2] {
    let (parties, ring) = (parties(), shape.ring());
    let narrow: Vec<i16> = weights.iter().map(|&w| ring.decode(w) as i16).collect();
    let operand = match shape.weight() {
        WeightKind::Narrow => Weights::Narrow(&narrow),
        WeightKind::Wide => Weights::Wide(weights),
    };
    let request = parties.client.request(shape, matrix, &mut rng(1));
    assert_eq!(request.len(), shape.request_bytes());
    let (reply, server) =
        parties.server.reply(shape, &request, operand, &mut rng(2)).expect("honest");
    assert_eq!(reply.len(), shape.reply_bytes());
    let client = parties.client.finish(shape, &reply).expect("honest");
    let sums: Vec<u64> = client.iter().zip(&server).map(|(&a, &b)| ring.add(a, b)).collect();
    let matches = sums == matmul(ring, matrix, weights, shape.inner(), shape.cols());
    assert!(matches, "{shape:?}");
    [client, server]
}

pub(crate) fn random_matrix(rng: &mut ChaCha20Rng, ring: Ring, count: usize) -> Vec<u64> {
    (0..count).map(|_| ring.reduce(rng.next_u64())).collect()
}

fn random_weights(rng: &mut ChaCha20Rng, shape: &ProductShape) -> Vec<u64> {
    let count = shape.inner() * shape.cols();
    match shape.weight() {
        WeightKind::Wide => random_matrix(rng, shape.ring(), count),
        WeightKind::Narrow => {
            (0..count).map(|_| shape.ring().encode(i64::from(rng.next_u64() as i16))).collect()
        }
    }
}

fn check_random(shape: &ProductShape) {
    let mut rng = rng(shape.ring().bits() as u8);
    let matrix = random_matrix(&mut rng, shape.ring(), shape.rows() * shape.inner());
    let weights = random_weights(&mut rng, shape);
    check(shape, &matrix, &weights);
}

#[test]
fn random_products_are_exact_in_every_width_and_kind() {
    for bits in [8, 20, 30, 31, 37, 44, 48, 49, 64] {
        for weight in [WeightKind::Narrow, WeightKind::Wide] {
            if bits >= 16 || weight == WeightKind::Wide {
                check_random(&shape(5, 37, 11, bits, weight));
            }
        }
    }
}

#[test]
fn odd_shapes_are_exact() {
    for (rows, inner, cols) in
        [(1, 1, 1), (1, 700, 3), (2, 1, 70), (7, 13, 29), (50, 65, 97), (4099, 3, 2), (3, 2500, 5)]
    {
        check_random(&shape(rows, inner, cols, 37, WeightKind::Narrow));
    }
    for (rows, inner, cols) in [(1, 1, 1), (50, 32, 50), (50, 50, 32), (1, 600, 9)] {
        check_random(&shape(rows, inner, cols, 40, WeightKind::Wide));
    }
}

#[test]
fn the_deepest_packing_is_exact_in_both_dimensions() {
    for (shape, dimension) in [
        (shape(4, 300, 600, 42, WeightKind::Narrow), 4096),
        (shape(16, 260, 257, 40, WeightKind::Wide), 8192),
    ] {
        assert_eq!((shape.tiling.pack_levels, shape.parameters.set.dimension), (9, dimension));
        check_random(&shape);
    }
}

#[test]
fn edge_values_are_exact() {
    for bits in [8, 37, 44, 64] {
        for weight in [WeightKind::Narrow, WeightKind::Wide] {
            let shape = shape(3, 70, 5, bits, weight);
            let ring = shape.ring();
            let narrow = if weight == WeightKind::Narrow { bits.min(16) } else { bits };
            let edges = [0, 1, -1, i64::MIN >> (64 - narrow), i64::MAX >> (64 - narrow)];
            for &edge in &edges {
                let matrix: Vec<u64> = (0..210).map(|i| ring.encode(edges[i % 5])).collect();
                check(&shape, &matrix, &[ring.encode(edge); 350]);
            }
            let top = ring.encode(i64::MIN >> (64 - bits));
            check(&shape, &[top; 210], &[ring.encode(edges[3]); 350]);
        }
    }
}

#[test]
fn unlike_rings_do_not_share_a_result() -> Outcome {
    let shape = shape(2, 2, 2, 8, WeightKind::Wide);
    let [client, server] = check(&shape, &[1, 2, 3, 4], &[5, 6, 7, 8]);
    assert!(client.iter().chain(&server).all(|&word| word < 256));
    Ok(())
}

#[test]
fn replies_to_one_request_are_unlinkable() -> Outcome {
    let Parties { client, server, .. } = parties();
    for shape in [shape(4, 64, 4, 37, WeightKind::Narrow), shape(4, 64, 4, 60, WeightKind::Narrow)]
    {
        let request = client.request(&shape, &[7; 256], &mut rng(3));
        let mut rng = rng(4);
        let weights = Weights::Narrow(&[1; 256]);
        let (first, share) = server.reply(&shape, &request, weights, &mut rng)?;
        let (second, other) = server.reply(&shape, &request, weights, &mut rng)?;
        let equal = first.iter().zip(&second).filter(|(a, b)| a == b).count();
        assert!(equal < first.len() / 128, "{equal} of {} bytes agree", first.len());
        assert_ne!(share, other);
    }
    Ok(())
}

#[test]
fn a_reply_does_not_depend_on_the_number_of_threads() -> Outcome {
    let Parties { client, server, message } = parties();
    let shape = shape(300, 20, 40, 37, WeightKind::Narrow);
    let request = client.request(&shape, &[7; 6000], &mut rng(8));
    let threaded = ServerKeys::parse(message)?.with_threads(NonZeroUsize::new(3).ok_or("zero")?);
    let weights = Weights::Narrow(&[5; 800]);
    let alone = server.reply(&shape, &request, weights, &mut rng(9))?;
    assert_eq!(threaded.reply(&shape, &request, weights, &mut rng(9))?, alone);
    Ok(())
}

#[test]
fn requests_with_one_message_differ_everywhere() {
    let shape = shape(4, 64, 4, 37, WeightKind::Narrow);
    let mut rng = rng(5);
    let first = parties().client.request(&shape, &[0; 256], &mut rng);
    let second = parties().client.request(&shape, &[0; 256], &mut rng);
    let equal = first.iter().zip(&second).filter(|(a, b)| a == b).count();
    assert!(equal < first.len() / 128, "{equal} of {} bytes agree", first.len());
}

#[test]
fn messages_of_a_wrong_size_are_refused() {
    let shape = shape(2, 3, 4, 37, WeightKind::Narrow);
    let Parties { client, server, message } = parties();
    for length in [0, shape.request_bytes() - 1, shape.request_bytes() + 1] {
        let reply = server.reply(&shape, &vec![0; length], Weights::Narrow(&[0; 12]), &mut rng(6));
        let expected = shape.request_bytes();
        assert_eq!(reply, Err(LatticeError::Length { what: "request", expected, got: length }));
    }
    let expected = shape.reply_bytes();
    assert_eq!(
        client.finish(&shape, &[1]),
        Err(LatticeError::Length { what: "reply", expected, got: 1 })
    );
    assert!(client.finish(&shape, &vec![0xff; expected]).is_ok());
    assert!(matches!(
        ServerKeys::parse(&message[1..]),
        Err(LatticeError::Length { what: "key message", .. })
    ));
}

#[test]
fn words_beyond_their_prime_are_refused() {
    let shape = shape(2, 3, 4, 37, WeightKind::Narrow);
    let Parties { server, message, .. } = parties();
    let request = vec![0xff; shape.request_bytes()];
    let reply = server.reply(&shape, &request, Weights::Narrow(&[0; 12]), &mut rng(7));
    assert_eq!(reply, Err(LatticeError::Residue("request")));
    for place in [32, message.len() - 5] {
        let mut message = message.clone();
        message[place..place + 5].fill(0xff);
        assert!(matches!(ServerKeys::parse(&message), Err(LatticeError::Residue("key message"))));
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() -> Outcome {
    let ring = Ring::new(64)?;
    let new =
        |rows, inner, cols, ring| ProductShape::new(rows, inner, cols, ring, WeightKind::Wide);
    assert_eq!(new(0, 1, 1, ring), Err(LatticeError::Empty));
    assert_eq!(new(1, 0, 1, ring), Err(LatticeError::Empty));
    assert_eq!(new(1, 1, 0, ring), Err(LatticeError::Empty));
    assert_eq!(new(1, 1, 1, Ring::new(7)?), Err(LatticeError::Width(7)));
    assert!(matches!(new(usize::MAX, 1, 1, ring), Err(LatticeError::TooLarge { .. })));
    assert!(matches!(new(1 << 20, 1, 1 << 20, ring), Err(LatticeError::TooLarge { .. })));
    let inner = 1 << 24;
    assert_eq!(new(1, inner, 1, ring), Err(LatticeError::NoParameters { bits: 64, inner }));
    Ok(())
}

//! Both parties of the COT factory over memory.

use degreespar_link::{Channel, Direction, Event, LinkError, Schedule, memory};
use degreespar_ot::{Cots, OtError, OtFactory, Prg};
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread;

type Outcome = Result<(), OtError>;

/// Runs the two parties, each in its thread.
fn both<T: Send>(
    server: impl FnOnce(&mut Channel) -> Result<T, OtError> + Send,
    client: impl FnOnce(&mut Channel) -> Result<T, OtError> + Send,
) -> Result<(T, T), OtError> {
    let (mut left, mut right) = memory::channels();
    thread::scope(|scope| {
        let other = scope.spawn(move || client(&mut right));
        let mine = server(&mut left);
        Ok((mine?, other.join().unwrap_or_else(|panic| resume_unwind(panic))?))
    })
}

/// Sets up and generates once per pair of counts; the same for both parties.
fn generate_all(channel: &mut Channel, demands: &[[usize; 2]]) -> Result<Vec<Cots>, OtError> {
    let seed = [channel.party().is_server() as u8 + 1; 32];
    let mut factory = OtFactory::setup(channel, Prg::from_seed(seed))?;
    demands.iter().map(|&[down, up]| factory.generate(channel, down, up)).collect()
}

fn run(demands: &[[usize; 2]]) -> Result<(Vec<Cots>, Vec<Cots>), OtError> {
    both(|channel| generate_all(channel, demands), |channel| generate_all(channel, demands))
}

/// Checks one direction: the correlation, the lowest bits, and that choices and blocks look random.
fn check(sent: &[u128], delta: u128, received: &[u128]) {
    assert_eq!((delta & 1, sent.len()), (1, received.len()));
    for (w, v) in sent.iter().zip(received) {
        assert_eq!((w & 1, *v), (0, w ^ ((v & 1) * delta)));
    }
    if sent.len() >= 1000 {
        for bit in 0..128 {
            let ones = received.iter().filter(|&v| v >> bit & 1 == 1).count();
            // Six standard deviations.
            let deviation = ones.abs_diff(received.len() / 2) as f64;
            assert!(deviation < 3.0 * (received.len() as f64).sqrt() + 1.0, "bit {bit}: {ones}");
        }
    }
}

#[test]
fn every_cot_is_correlated_and_none_comes_twice() -> Outcome {
    let demands =
        [[0, 0], [1, 0], [0, 1], [33, 7], [(1 << 14) + 3, 1], [0, 100_001], [300_000, 270_000]];
    let (servers, clients) = run(&demands)?;
    let mut seen = [HashSet::new(), HashSet::new()];
    let mut deltas = HashSet::new();
    for ((server, client), [down, up]) in servers.into_iter().zip(clients).zip(demands) {
        assert_eq!((server.sent.len(), client.sent.len()), (down, up));
        deltas.extend([server.sent.delta(), client.sent.delta()]);
        for ((sent, received), seen) in
            [(server.sent, client.received), (client.sent, server.received)]
                .into_iter()
                .zip(&mut seen)
        {
            let (delta, sent, received) =
                (sent.delta(), sent.into_blocks(), received.into_blocks());
            check(&sent, delta, &received);
            assert!(sent.into_iter().all(|w| seen.insert(w)), "a block came twice");
        }
    }
    assert_eq!(deltas.len(), 2, "one delta for each direction");
    Ok(())
}

#[test]
fn the_declared_messages_are_the_recorded_ones() -> Outcome {
    let demands =
        [[5, 0], [0, 0], [20_000, 70_000], [600_000, 1], [1, 600_000], [300_000, 300_000]];
    let party = |channel: &mut Channel| {
        channel.record();
        let mut factory = OtFactory::setup(channel, Prg::from_os()?)?;
        let mut shapes = vec![(OtFactory::setup_schedule(), channel.take_recording())];
        for [down, up] in demands {
            let declared = factory.generate_schedule(down, up);
            channel.record();
            factory.generate(channel, down, up)?;
            shapes.push((declared, channel.take_recording()));
        }
        let flips = channel.meter().flips();
        Ok((shapes, flips))
    };
    let ((server, server_flips), (client, client_flips)) = both(party, party)?;
    let mut whole = Schedule::default();
    for ((declared, recorded), (same, other_recorded)) in server.into_iter().zip(client) {
        assert_eq!(declared, same);
        for direction in [Direction::ToClient, Direction::ToServer] {
            let events = |recorded: &[Event]| -> Vec<Event> {
                recorded.iter().filter(|event| event.direction == direction).copied().collect()
            };
            assert_eq!(declared.events(direction), events(&recorded));
            assert_eq!(declared.events(direction), events(&other_recorded));
        }
        assert!(declared.flips() <= 2);
        whole = whole.then(declared);
    }
    assert_eq!(whole.flips(), server_flips.max(client_flips));
    Ok(())
}

#[test]
fn two_factories_with_the_same_seed_repeat_each_other_and_others_do_not() -> Outcome {
    let blocks = |seed: u8, threads: usize| -> Result<Vec<u128>, OtError> {
        let party = |channel: &mut Channel| {
            let mut factory = OtFactory::setup(channel, Prg::from_seed([seed; 32]))?;
            factory.set_threads(threads.try_into().unwrap_or(NonZeroUsize::MIN));
            Ok(factory.generate(channel, 600_000, 0)?.received.into_blocks())
        };
        Ok(both(party, party)?.1)
    };
    let first = blocks(1, 1)?;
    assert!(first == blocks(1, 2)?, "the number of threads changed the outcome");
    assert!(first != blocks(2, 1)?);
    Ok(())
}

#[test]
fn what_was_generated_can_be_taken_once() -> Outcome {
    let (mut servers, mut clients) = run(&[[10, 20]])?;
    let (server, client) = (&mut servers[0], &mut clients[0]);
    let (sent, received) = (server.sent.take(6)?, client.received.take(6)?);
    let delta = sent.delta();
    check(&sent.into_blocks(), delta, &received.into_blocks());
    assert!(matches!(server.sent.take(5), Err(OtError::Exhausted { wanted: 5, left: 4 })));
    assert!(matches!(server.received.take(21), Err(OtError::Exhausted { wanted: 21, left: 20 })));
    assert!(server.sent.take(4)?.len() == 4 && server.sent.is_empty());
    Ok(())
}

#[test]
fn a_peer_that_breaks_the_protocol_is_an_error() -> Outcome {
    let base_bytes = OtFactory::setup_schedule().events(Direction::ToServer)[0].bytes;
    for (payload, wants_point_error) in [(vec![0xff; base_bytes], true), (vec![1; 7], false)] {
        let (mut server, mut client) = memory::channels();
        client.send("ot base", payload)?;
        let outcome = OtFactory::setup(&mut server, Prg::from_seed([3; 32])).err();
        match outcome {
            Some(OtError::Point) => assert!(wants_point_error),
            Some(OtError::Link(LinkError::Size { got: 7, .. })) => assert!(!wants_point_error),
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

#[test]
fn a_batch_message_of_another_size_is_an_error() -> Outcome {
    let (server, client) = both(
        |channel| {
            let mut factory = OtFactory::setup(channel, Prg::from_os()?)?;
            Ok(factory.generate(channel, 0, 5).err())
        },
        |channel| {
            OtFactory::setup(channel, Prg::from_os()?)?;
            channel.send("ot trees", vec![0; 16])?;
            Ok(None)
        },
    )?;
    assert!(matches!(server, Some(OtError::Link(LinkError::Size { got: 16, .. }))));
    assert!(client.is_none());
    Ok(())
}

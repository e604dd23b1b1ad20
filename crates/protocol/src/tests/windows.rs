//! Windows that are prepared beside the answer: bounded in number, each used once, burnt with an aborted run.

use super::failures::session;
use super::harness::{Data, Outcome, Tested, in_two_threads, open};
use crate::{Need, PrepareCost, Primitive, ProtocolError, Session, Square};
use degreespar_link::{Link, LinkError, Party, Stream, memory};
use degreespar_ring::Ring;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

fn step() -> Square {
    Square { ring: Ring::new(20).expect("a ring"), count: 6 }
}

/// Two sessions over a connection in memory.
fn sessions() -> Outcome<(Session, Session)> {
    let (server, client) = memory::links();
    Ok((session(server)?, session(client)?))
}

/// Waits for something that the preparing thread brings about.
fn eventually(mut happens: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happens() {
        assert!(start.elapsed() < LONG, "it did not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A run of six windows, all ordered at once, of which so many may be held.
fn run(link: Link, shares: &[Vec<u64>; 2], most_held: usize, ahead: bool) -> Outcome<Vec<u64>> {
    let step = step();
    let mut session = session(link)?;
    let mut mine = shares[usize::from(!session.party().is_server())].clone();
    session.hold_at_most(most_held);
    (0..6).for_each(|_| session.order(&step.needs()));
    if ahead {
        session.wait_ready(6)?;
    }
    for window in 0..6 {
        let [spent, declared] = session.begin_window()?;
        assert_eq!(PrepareCost { time: Duration::ZERO, ..spent }, declared, "window {window}");
        assert!(session.windows_held() <= most_held);
        let before = session.meter(Stream::Answer).flips();
        mine = session.run(|context| step.run(context, &mine))?;
        assert_eq!(session.meter(Stream::Answer).flips() - before, 1, "flips add up");
    }
    session.end_window()?;
    assert_eq!((session.windows_held(), session.batches_left()), (0, 0));
    Ok(mine)
}

#[test]
fn a_run_is_the_same_however_many_windows_are_held() -> Tested {
    let ring = step().ring;
    let x: Vec<i64> = (-3..3).collect();
    let shares = Data::new(41).share_signed(ring, &x);
    let power = x.iter().map(|&x| (0..6).fold(ring.encode(x), |x, _| ring.mul(x, x)));
    let power: Vec<u64> = power.collect();
    for (server_holds, client_holds) in [(1, 1), (2, 2), (6, 6), (1, 3), (6, 1), (2, 1)] {
        let (server, client) = memory::links();
        // all before the first answer: only if both have the room
        let ahead = server_holds.min(client_holds) == 6;
        let (server, client) = in_two_threads(
            || run(server, &shares, server_holds, ahead),
            || run(client, &shares, client_holds, ahead),
        );
        assert_eq!(open(ring, &[server?, client?]), power, "{server_holds}, {client_holds}");
    }
    Ok(())
}

#[test]
fn no_more_windows_are_made_than_may_be_held() -> Tested {
    let (mut server, mut client) = sessions()?;
    let needs = step().needs();
    for session in [&mut server, &mut client] {
        session.hold_at_most(3);
        (0..5).for_each(|_| session.order(&needs));
    }
    server.wait_ready(3)?;
    client.wait_ready(3)?;
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!((server.windows_held(), server.batches_left()), (3, 3));
    server.begin_window()?;
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!((server.windows_held(), server.batches_left()), (3, 3), "one is in use");
    assert!(matches!(server.wait_ready(3), Err(ProtocolError::Unsupported(_))), "no room for it");
    Ok(())
}

#[test]
fn the_next_window_is_made_while_this_one_is_in_use() -> Tested {
    let (mut server, mut client) = sessions()?;
    let needs = step().needs();
    for session in [&mut server, &mut client] {
        session.hold_at_most(2);
        (0..2).for_each(|_| session.order(&needs));
    }
    server.begin_window()?;
    eventually(|| server.batches_left() == 2);
    Ok(())
}

#[test]
fn a_window_that_was_not_ordered_is_not_waited_for() -> Tested {
    let (mut server, _client) = sessions()?;
    assert!(matches!(server.begin_window(), Err(ProtocolError::Exhausted("window"))));
    Ok(())
}

#[test]
fn a_window_must_be_used_up() -> Tested {
    let (mut server, mut client) = sessions()?;
    for session in [&mut server, &mut client] {
        session.order(&step().needs());
    }
    server.begin_window()?;
    assert!(matches!(server.end_window(), Err(ProtocolError::Unused(1))));
    assert_eq!(server.batches_left(), 0);
    Ok(())
}

#[test]
fn an_error_in_the_answer_burns_every_window_and_ends_the_peer() -> Tested {
    let (mut server, mut client) = sessions()?;
    let (step, needs) = (step(), step().needs());
    for session in [&mut server, &mut client] {
        session.hold_at_most(4);
        (0..8).for_each(|_| session.order(&needs));
    }
    for session in [&mut server, &mut client] {
        session.wait_ready(4)?;
        session.begin_window()?;
    }
    let wrong = Square { count: 7, ..step };
    assert!(matches!(
        server.run(|context| wrong.run(context, &[0; 7])),
        Err(ProtocolError::Mismatch { .. })
    ));
    assert_eq!(server.batches_left(), 0);
    // nothing of the aborted run can be used, and nothing new is made
    let again = server.run(|context| step.run(context, &[0; 6]));
    assert!(matches!(again, Err(ProtocolError::Exhausted(_))), "{again:?}");
    assert!(server.begin_window().is_err());
    server.order(&needs);
    assert!(server.begin_window().is_err());
    assert_eq!(server.batches_left(), 0);
    let ended = client.run(|context| step.run(context, &[0; 6]));
    assert!(matches!(ended, Err(ProtocolError::Link(LinkError::Closed(_)))), "{ended:?}");
    assert_eq!(client.batches_left(), 0);
    eventually(|| client.windows_held() <= 1);
    Ok(())
}

#[test]
fn an_error_in_the_preparation_ends_the_answer_and_is_the_one_that_is_told() -> Tested {
    let (server, mut client) = memory::links();
    let mut server = session(server)?;
    server.hold_at_most(2);
    server.order(&step().needs());
    client.prepare.send("nonsense", vec![])?;
    // whatever the answering side waits for
    let ended = server.run(|context| Ok(context.channel.receive("never", 1)?));
    let nonsense = matches!(ended, Err(ProtocolError::Link(LinkError::OutOfOrder { .. })));
    assert!(nonsense, "{ended:?}");
    assert!(matches!(client.answer.receive("never", 1), Err(LinkError::Closed(_))));
    Ok(())
}

#[test]
fn a_silent_peer_ends_the_preparation_at_the_deadline() -> Tested {
    let (mut server, _client) = memory::links();
    server.set_deadline(Duration::from_millis(20));
    let mut server = session(server)?;
    server.order(&[Need::SquarePairs { ring: step().ring, count: 9 }]);
    let ended = server.begin_window();
    assert!(matches!(ended, Err(ProtocolError::Link(LinkError::Timeout(..)))), "{ended:?}");
    Ok(())
}

#[test]
fn a_session_that_is_dropped_in_the_middle_ends_its_peer_on_both_streams() -> Tested {
    let (server, client) = sessions()?;
    let (mut server, mut client) = (server, client);
    server.hold_at_most(2);
    server.order(&step().needs());
    drop(server);
    client.order(&step().needs());
    assert!(matches!(client.begin_window(), Err(ProtocolError::Link(LinkError::Closed(_)))));
    Ok(())
}

#[test]
fn the_client_says_when_an_answer_begins_and_may_take_its_time() -> Tested {
    let (mut server, mut client) = memory::links();
    for link in [&mut server, &mut client] {
        link.set_deadline(Duration::from_millis(1));
    }
    let (mut server, mut client) = (session(server)?, session(client)?);
    let (server, client) = in_two_threads(
        || server.begin_answer(LONG),
        || {
            std::thread::sleep(Duration::from_millis(30));
            client.begin_answer(Duration::ZERO)
        },
    );
    server?;
    Ok(client?)
}

#[test]
fn a_client_that_never_begins_is_given_up() -> Tested {
    let (mut server, _client) = sessions()?;
    let given_up = server.begin_answer(Duration::from_millis(20));
    assert!(matches!(given_up, Err(ProtocolError::Link(LinkError::Timeout(_, "begin")))));
    assert_eq!(server.party(), Party::Server);
    Ok(())
}

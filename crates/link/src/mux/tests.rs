//! Two streams over a line in memory, and a raw peer that says what no mux would.

use super::*;
use crate::shaped::{Shape, shaped};
use crate::{Link, Party, memory};

type Tested = Result<(), LinkError>;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(30);

fn link(party: Party, line: memory::MemoryLine) -> Link {
    let mut link = Link::new(party, streams(line).expect("a thread can be started"));
    link.set_deadline(LONG);
    link
}

fn links() -> (Link, Link) {
    let (server, client) = memory::lines();
    (link(Party::Server, server), link(Party::Client, client))
}

/// A server, and the line to it without any mux.
fn raw() -> (Link, memory::MemoryLine) {
    let (server, peer) = memory::lines();
    (link(Party::Server, server), peer)
}

/// All that the peer is sent until nothing more comes.
fn drain(peer: &mut memory::MemoryLine) -> Vec<Chunk> {
    std::iter::from_fn(|| peer.inbox.receive(SHORT).ok().flatten()).collect()
}

#[test]
fn a_stream_that_no_one_reads_does_not_stop_the_other() -> Tested {
    let (mut server, mut client) = links();
    let bytes = 30_000_000;
    client.prepare.send("bulk", vec![7; bytes])?;
    for value in 0..100 {
        client.answer.send("ask", vec![value])?;
        assert_eq!(server.answer.receive("ask", 1)?, [value]);
        server.answer.send("reply", vec![value; 1000])?;
        assert_eq!(client.answer.receive("reply", 1000)?, [value; 1000]);
    }
    assert!(server.prepare.receive("bulk", bytes)?.iter().all(|&byte| byte == 7));
    assert_eq!((server.prepare.meter().flips(), server.answer.meter().flips()), (1, 200));
    assert_eq!(server.answer.meter().sent_bytes(), 100_000);
    assert_eq!(server.prepare.meter().received_bytes(), bytes as u64);
    Ok(())
}

#[test]
fn both_parties_may_send_on_both_streams_at_once() -> Tested {
    let (server, client) = links();
    let sizes = [0, 1, 65_519, 65_520, 65_521, 500_000, 3, 9_000_000, 0];
    let swap = move |mut channel: crate::Channel, own: u8, other: u8| -> Tested {
        for bytes in sizes {
            channel.send("large", vec![own; bytes])?;
        }
        for bytes in sizes {
            assert!(channel.receive("large", bytes)? == vec![other; bytes]);
        }
        Ok(())
    };
    let all = [
        (server.answer, 1, 2),
        (server.prepare, 3, 4),
        (client.answer, 2, 1),
        (client.prepare, 4, 3),
    ];
    let threads =
        all.map(|(channel, own, other)| std::thread::spawn(move || swap(channel, own, other)));
    threads.into_iter().try_for_each(|thread| thread.join().expect("a party panicked"))
}

#[test]
fn a_message_under_way_delays_the_other_stream_by_its_flight_only() -> Tested {
    let (server, client) = memory::lines();
    let shape = Shape { rate_bits_per_s: 100_000_000, one_way_delay: Duration::from_millis(1) };
    let open = |party, line| {
        let mut link = Link::new(party, streams(shaped(line, shape)).expect("a thread"));
        link.set_deadline(LONG);
        link
    };
    let (mut server, mut client) = (open(Party::Server, server), open(Party::Client, client));
    let start = Instant::now();
    client.prepare.send("bulk", vec![7; 10_000_000])?;
    client.answer.send("ask", vec![1])?;
    server.answer.receive("ask", 1)?;
    let asked = start.elapsed();
    server.prepare.receive("bulk", 10_000_000)?;
    assert!(asked * 3 < start.elapsed(), "the short message came after {asked:?}");
    Ok(())
}

#[test]
fn an_unread_stream_is_granted_the_buffer_and_no_more() {
    let (_server, mut peer) = raw();
    let (mut sent, mut granted) = (0, FLIGHT_BYTES);
    while sent < granted {
        let bytes = (granted - sent).min(MAX_CHUNK_BYTES as u64);
        peer.outbox.send(Chunk::Data(Stream::Prepare, vec![0; bytes as usize])).expect("taken");
        sent += bytes;
        while let Ok(Some(chunk)) =
            peer.inbox.receive(if sent == granted { SHORT } else { Duration::ZERO })
        {
            let Chunk::Grant(Stream::Prepare, until) = chunk else { panic!("{chunk:?}") };
            assert!(until > granted);
            granted = until;
        }
    }
    assert_eq!(sent, granted);
    assert!((BUFFER_BYTES - GRANT_STEP_BYTES..=BUFFER_BYTES).contains(&granted), "{granted}");
}

#[test]
fn more_than_was_granted_ends_both_streams() {
    let (mut server, mut peer) = raw();
    for _ in 0..=BUFFER_BYTES / MAX_CHUNK_BYTES as u64 {
        let _ = peer.outbox.send(Chunk::Data(Stream::Prepare, vec![0; MAX_CHUNK_BYTES]));
    }
    let refused = server.answer.receive("a", 1);
    assert!(matches!(refused, Err(LinkError::Malformed { label: "a", .. })), "{refused:?}");
    let refused = server.prepare.send("b", vec![1]);
    assert!(matches!(refused, Err(LinkError::Malformed { label: "b", .. })), "{refused:?}");
}

#[test]
fn nothing_is_sent_beyond_the_grant_and_all_of_it_after() -> Tested {
    let (mut server, mut peer) = raw();
    let bytes = 2_000_000;
    server.answer.send("large", vec![5; bytes])?;
    let count =
        |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.body().len() as u64).sum::<u64>();
    assert_eq!(count(&drain(&mut peer)), FLIGHT_BYTES);
    peer.outbox.send(Chunk::Grant(Stream::Answer, FLIGHT_BYTES + 10)).expect("taken");
    assert_eq!(count(&drain(&mut peer)), 10);
    peer.outbox.send(Chunk::Grant(Stream::Answer, u64::MAX)).expect("taken");
    assert_eq!(count(&drain(&mut peer)), bytes as u64 + 16 - FLIGHT_BYTES - 10);
    Ok(())
}

#[test]
fn a_grant_is_never_taken_back() {
    let (mut server, mut peer) = raw();
    peer.outbox.send(Chunk::Grant(Stream::Answer, FLIGHT_BYTES - 1)).expect("taken");
    assert!(matches!(server.prepare.receive("a", 1), Err(LinkError::Malformed { .. })));
}

#[test]
fn many_tiny_pieces_are_put_together() {
    let mut incoming = Incoming { granted: u64::MAX, ..Incoming::default() };
    for _ in 0..100_000 {
        incoming.put(vec![1]).expect("granted");
    }
    assert!(incoming.pieces.len() < 2 * 100_000 / SMALL_PIECE_BYTES + 2);
    let bytes: usize = std::iter::from_fn(|| incoming.consume()).map(|piece| piece.len()).sum();
    assert_eq!(bytes, 100_000);
}

#[test]
fn closing_ends_every_wait_here_and_at_the_peer() {
    let (server, client) = links();
    let closer = server.closer.clone();
    let waits =
        [server.answer, server.prepare, client.answer, client.prepare].map(|mut channel| {
            std::thread::spawn(move || {
                matches!(channel.receive("never", 1), Err(LinkError::Closed("never")))
            })
        });
    std::thread::sleep(SHORT);
    let start = Instant::now();
    closer.close();
    assert!(waits.into_iter().all(|wait| wait.join().expect("no panic")));
    assert!(start.elapsed() < LONG / 2, "no wait ran into its deadline");
}

#[test]
fn closing_ends_the_streams_that_have_queues_of_their_own() {
    let (server, client) = memory::links();
    let closer = client.closer.clone();
    let waits =
        [server.answer, server.prepare, client.answer, client.prepare].map(|mut channel| {
            std::thread::spawn(move || {
                matches!(channel.receive("never", 1), Err(LinkError::Closed("never")))
            })
        });
    closer.close();
    assert!(waits.into_iter().all(|wait| wait.join().expect("no panic")));
}

#[test]
fn what_was_sent_arrives_although_both_streams_were_dropped() -> Tested {
    let (mut server, client) = links();
    let (mut answer, mut prepare) = (client.answer, client.prepare);
    let leaving = std::thread::spawn(move || -> Tested {
        prepare.send("bulk", vec![3; 5_000_000])?;
        drop(prepare);
        answer.send("last", vec![4; 5_000_000])
    });
    assert!(server.answer.receive("last", 5_000_000)? == vec![4; 5_000_000]);
    assert!(server.prepare.receive("bulk", 5_000_000)? == vec![3; 5_000_000]);
    leaving.join().expect("no panic")?;
    assert!(matches!(server.answer.receive("more", 1), Err(LinkError::Closed("more"))));
    assert!(matches!(server.prepare.receive("more", 1), Err(LinkError::Closed("more"))));
    Ok(())
}

#[test]
fn a_stream_that_its_reader_dropped_does_not_hold_the_sender_up() -> Tested {
    let (mut server, client) = links();
    let Link { mut answer, prepare, .. } = client;
    drop(prepare);
    server.prepare.send("bulk", vec![3; 5_000_000])?;
    drop(server.prepare);
    server.answer.send("after", vec![1])?;
    let leaving = std::thread::spawn(move || drop(server.answer));
    assert_eq!(answer.receive("after", 1)?, [1]);
    leaving.join().expect("no panic");
    assert!(matches!(answer.receive("more", 1), Err(LinkError::Closed("more"))));
    Ok(())
}

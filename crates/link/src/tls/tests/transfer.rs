//! What passes over an authenticated connection, and what a peer can break there.

use super::{LONG, SHORT, channels, raw};
use crate::{Channel, Direction, LinkError, Schedule};
use std::io::{Read, Write};
use std::time::Duration;

/// A frame of docs/spec/wire.md, written down by hand: FNV-1a of "a", depth 1, this length.
fn header_of_a(length: u64) -> Vec<u8> {
    let tag = 0xe40c_292c_u32;
    [&tag.to_le_bytes()[..], &1u32.to_le_bytes(), &length.to_le_bytes()].concat()
}

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|i| (i as u8).wrapping_mul(seed) ^ (i >> 8) as u8 ^ (i >> 16) as u8).collect()
}

#[test]
fn messages_of_every_size_arrive_as_they_were_sent() -> Result<(), LinkError> {
    let (mut server, mut client) = channels()?;
    server.record();
    let sizes = [0, 1, 15, 16, 17, 16_367, 16_368, 16_369, 262_144, 262_145, 1_000_003];
    let mut declared = Schedule::default();
    for (seed, bytes) in (3..).zip(sizes) {
        client.send("there", pattern(bytes, seed))?;
        server.send("and back", pattern(bytes, seed + 100))?;
        assert_eq!(server.receive("there", bytes)?, pattern(bytes, seed));
        assert_eq!(client.receive("and back", bytes)?, pattern(bytes, seed + 100));
        declared = declared.message(Direction::ToServer, "there", bytes);
        declared = declared.message(Direction::ToClient, "and back", bytes);
    }
    assert_eq!(declared.matches(&server.take_recording()), Ok(()));
    assert_eq!(server.meter().flips(), sizes.len() as u32);
    Ok(())
}

/// Sends before it receives, as protocols do.
fn swap(mut channel: Channel, seeds: (u8, u8), bytes: usize) -> Result<bool, LinkError> {
    channel.set_deadline(LONG);
    channel.send("large", pattern(bytes, seeds.0))?;
    Ok(channel.receive("large", bytes)? == pattern(bytes, seeds.1))
}

#[test]
fn both_may_send_fifty_megabytes_at_once() -> Result<(), LinkError> {
    let (server, client) = channels()?;
    let bytes = 50_000_000;
    let other = std::thread::spawn(move || swap(client, (3, 5), bytes));
    assert!(swap(server, (5, 3), bytes)?);
    assert!(other.join().expect("the client panicked")?);
    Ok(())
}

#[test]
fn the_hand_written_frame_is_understood() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    peer.write_all(&[header_of_a(3), vec![1, 2, 3]].concat()).expect("sent");
    assert_eq!(server.receive("a", 3)?, [1, 2, 3]);
    server.send("a", vec![4, 5])?;
    let mut frame = [0; 18];
    peer.read_exact(&mut frame).expect("received");
    // depth 2: it was sent after the one of depth 1 had arrived
    assert_eq!(frame[..8], [0x2c, 0x29, 0x0c, 0xe4, 2, 0, 0, 0]);
    assert_eq!(frame[8..], [2, 0, 0, 0, 0, 0, 0, 0, 4, 5]);
    Ok(())
}

#[test]
fn a_depth_that_no_chain_of_messages_has_is_refused() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    let mut frame = [header_of_a(1), vec![0]].concat();
    frame[4] = 2;
    peer.write_all(&frame).expect("sent");
    assert!(matches!(server.receive("a", 1), Err(LinkError::Malformed { label: "a", .. })));
    Ok(())
}

#[test]
fn a_frame_in_single_bytes_is_put_together() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    for byte in [header_of_a(2), vec![8, 9]].concat() {
        peer.write_all(&[byte]).and_then(|()| peer.flush()).expect("sent");
    }
    assert_eq!(server.receive("a", 2)?, [8, 9]);
    Ok(())
}

#[test]
fn another_label_is_out_of_order() -> Result<(), LinkError> {
    let (mut server, mut client) = channels()?;
    client.send("a", vec![1])?;
    assert!(matches!(server.receive("b", 1), Err(LinkError::OutOfOrder { expected: "b" })));
    Ok(())
}

#[test]
fn a_shorter_message_is_an_error_and_so_is_a_longer_one() -> Result<(), LinkError> {
    let (mut server, mut client) = channels()?;
    client.send("a", vec![1; 3])?;
    client.send("a", vec![1; 5])?;
    assert!(matches!(server.receive("a", 4), Err(LinkError::Size { expected: 4, got: 3, .. })));
    assert!(matches!(server.receive("a", 4), Err(LinkError::Size { expected: 4, got: 5, .. })));
    Ok(())
}

#[test]
fn a_huge_announced_length_is_refused_at_its_header() -> Result<(), LinkError> {
    for length in [5, 1 << 40, u64::MAX] {
        let (mut server, mut peer) = raw()?;
        // the header alone: nothing of the payload ever comes, so only the header can have been judged
        peer.write_all(&header_of_a(length)).expect("sent");
        let refused = server.receive("a", 4);
        assert!(
            matches!(refused, Err(LinkError::Size { expected: 4, got, .. }) if got as u64 == length)
        );
        assert!(matches!(server.receive("a", 4), Err(LinkError::Closed("a"))), "and stays closed");
    }
    Ok(())
}

#[test]
fn a_peer_that_closes_in_the_middle_of_a_frame_is_closed() -> Result<(), LinkError> {
    let cuts = [vec![], vec![0; 5], header_of_a(4), [header_of_a(4), vec![1; 3]].concat()];
    for cut in cuts {
        for says_goodbye in [true, false] {
            let (mut server, mut peer) = raw()?;
            peer.write_all(&cut).expect("sent");
            if says_goodbye {
                peer.conn.send_close_notify();
                peer.flush().expect("sent");
            }
            drop(peer);
            assert!(matches!(server.receive("a", 4), Err(LinkError::Closed("a"))));
        }
    }
    Ok(())
}

#[test]
fn a_silent_peer_is_a_timeout_and_may_still_finish_its_message() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    server.set_deadline(SHORT);
    assert!(matches!(server.receive("a", 4), Err(LinkError::Timeout(SHORT, "a"))));
    peer.write_all(&[header_of_a(4), vec![1, 2]].concat()).expect("sent");
    assert!(matches!(server.receive("a", 4), Err(LinkError::Timeout(SHORT, "a"))));
    peer.write_all(&[3, 4]).expect("sent");
    server.set_deadline(LONG);
    assert_eq!(server.receive("a", 4)?, [1, 2, 3, 4]);
    Ok(())
}

#[test]
fn bytes_that_are_no_tls_break_the_stream() -> Result<(), LinkError> {
    let not_a_record = vec![0xff; 100];
    let forged_record = [&[23, 3, 3, 0, 100][..], &[0x5a; 100]].concat();
    for bytes in [not_a_record, forged_record] {
        let (mut server, mut peer) = raw()?;
        peer.sock.write_all(&bytes).expect("sent");
        let broken = server.receive("a", 4);
        assert!(matches!(&broken, Err(LinkError::Malformed { label: "a", .. })), "{broken:?}");
        assert!(matches!(server.receive("a", 4), Err(LinkError::Closed("a"))), "and stays closed");
    }
    Ok(())
}

#[test]
fn a_replayed_record_breaks_the_stream() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    peer.conn.writer().write_all(&[header_of_a(1), vec![7]].concat()).expect("taken");
    let mut record = Vec::new();
    peer.conn.write_tls(&mut record).expect("encrypted");
    peer.sock.write_all(&record).expect("sent");
    assert_eq!(server.receive("a", 1)?, [7]);
    peer.sock.write_all(&record).expect("sent");
    assert!(matches!(server.receive("a", 1), Err(LinkError::Malformed { .. })));
    Ok(())
}

#[test]
fn a_key_update_in_the_stream_is_followed() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    for value in 0..3 {
        peer.conn.refresh_traffic_keys().expect("after the handshake");
        peer.write_all(&[header_of_a(1), vec![value]].concat()).expect("sent");
        assert_eq!(server.receive("a", 1)?, [value]);
        server.send("a", vec![value])?;
        let mut frame = [0; 17];
        peer.read_exact(&mut frame).expect("received");
        assert_eq!(frame[16], value);
    }
    Ok(())
}

#[test]
fn what_no_one_waits_for_stays_with_its_sender() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    let flood_bytes = 64 << 20;
    peer.write_all(&header_of_a(flood_bytes)).expect("sent");
    peer.sock.set_write_timeout(Some(Duration::from_millis(300))).expect("set");
    let mut records = Vec::new();
    let mut send = |payload: &[u8]| {
        records.clear();
        peer.conn.writer().write_all(payload).expect("taken");
        while peer.conn.wants_write() {
            peer.conn.write_tls(&mut records).expect("encrypted");
        }
        peer.sock.write_all(&records)
    };
    let payload = vec![7; 1 << 15];
    let taken = (0..flood_bytes >> 15).take_while(|_| send(&payload).is_ok()).count();
    assert!((taken as u64) < flood_bytes >> 15, "the whole flood was taken");
    assert!(matches!(server.receive("a", 4), Err(LinkError::Size { .. })));
    Ok(())
}

#[test]
fn what_was_sent_arrives_although_its_sender_has_left() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    let bytes = 40_000_000;
    // unread bytes at the sender must not reset the connection under its last words
    peer.write_all(&[0; 100_000]).expect("sent");
    let sender = std::thread::spawn(move || server.send("last words", pattern(bytes, 9)));
    let mut frame = vec![0; 16 + bytes];
    // a slow reader: when the sender is done, its last megabytes are still in its own system's buffers
    for piece in frame.chunks_mut(1_000_000) {
        std::thread::sleep(Duration::from_millis(4));
        peer.read_exact(piece).expect("received");
    }
    assert!(frame[16..] == pattern(bytes, 9));
    sender.join().expect("the sender panicked")?;
    assert_eq!(peer.read(&mut [0; 1]).ok(), Some(0), "then it says goodbye");
    Ok(())
}

#[test]
fn a_peer_that_left_is_reported_to_the_sender() -> Result<(), LinkError> {
    let (mut server, peer) = raw()?;
    drop(peer);
    let closed = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        matches!(server.send("a", vec![0; 1000]), Err(LinkError::Closed("a")))
    });
    assert!(closed);
    Ok(())
}

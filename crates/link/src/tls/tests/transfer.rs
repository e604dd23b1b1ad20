//! What passes over an authenticated connection, and what a peer can break there.

use super::{LONG, RawPeer, SHORT, channels, raw};
use crate::{Channel, Direction, LinkError, Schedule, mux};
use std::io::{Read, Write};
use std::time::Duration;

/// A frame of docs/spec/wire.md, written down by hand: FNV-1a of "a", depth 1, this length.
fn header_of_a(length: u64) -> Vec<u8> {
    let tag = 0xe40c_292c_u32;
    [&tag.to_le_bytes()[..], &1u32.to_le_bytes(), &length.to_le_bytes()].concat()
}

/// The same bytes as chunks of the answer stream.
fn in_chunks(bytes: &[u8]) -> Vec<u8> {
    let chunk =
        |piece: &[u8]| [&[0, 0, 0, 0], &(piece.len() as u32).to_le_bytes()[..], piece].concat();
    bytes.chunks(1 << 16).flat_map(chunk).collect()
}

/// The next chunk of the answer stream.
fn read_chunk(peer: &mut RawPeer) -> Vec<u8> {
    let mut head = [0; 8];
    peer.read_exact(&mut head).expect("received");
    let [0, 0, 0, 0, length @ ..] = head else { panic!("{head:?} heads no chunk of answers") };
    let mut content = vec![0; u32::from_le_bytes(length) as usize];
    peer.read_exact(&mut content).expect("received");
    content
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
    peer.write_all(&in_chunks(&[header_of_a(3), vec![1, 2, 3]].concat())).expect("sent");
    assert_eq!(server.receive("a", 3)?, [1, 2, 3]);
    server.send("a", vec![4, 5])?;
    let frame = read_chunk(&mut peer);
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
    peer.write_all(&in_chunks(&frame)).expect("sent");
    assert!(matches!(server.receive("a", 1), Err(LinkError::Malformed { label: "a", .. })));
    Ok(())
}

#[test]
fn a_frame_in_single_bytes_is_put_together() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    for byte in in_chunks(&[header_of_a(2), vec![8, 9]].concat()) {
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
        peer.write_all(&in_chunks(&header_of_a(length))).expect("sent");
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
            peer.write_all(&in_chunks(&cut)).expect("sent");
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
    peer.write_all(&in_chunks(&[header_of_a(4), vec![1, 2]].concat())).expect("sent");
    assert!(matches!(server.receive("a", 4), Err(LinkError::Timeout(SHORT, "a"))));
    peer.write_all(&in_chunks(&[3, 4])).expect("sent");
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
        assert!(server.receive("a", 4).is_err(), "and stays broken");
    }
    Ok(())
}

#[test]
fn a_replayed_record_breaks_the_stream() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    let frame = in_chunks(&[header_of_a(1), vec![7]].concat());
    peer.conn.writer().write_all(&frame).expect("taken");
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
        peer.write_all(&in_chunks(&[header_of_a(1), vec![value]].concat())).expect("sent");
        assert_eq!(server.receive("a", 1)?, [value]);
        server.send("a", vec![value])?;
        assert_eq!(read_chunk(&mut peer)[16], value);
    }
    Ok(())
}

#[test]
fn more_than_was_granted_breaks_the_line() -> Result<(), LinkError> {
    let (mut server, mut peer) = raw()?;
    // frames of zeros that no one reads
    peer.write_all(&in_chunks(&vec![0; mux::BUFFER_BYTES as usize + 1])).expect("sent");
    assert!(eventually(|| server.send("a", vec![]).is_err()));
    let mut rest = (0..1 << 20).map(|_| server.receive("b", 1 << 20));
    let end = rest.find(|received| !matches!(received, Err(LinkError::OutOfOrder { .. })));
    assert!(matches!(end, Some(Err(LinkError::Malformed { .. }))), "{end:?}");
    Ok(())
}

#[test]
fn a_malformed_chunk_breaks_the_line() -> Result<(), LinkError> {
    for head in [[7, 0, 0, 0, 1, 0, 0, 0], [0, 9, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1]] {
        let (mut server, mut peer) = raw()?;
        peer.write_all(&head).expect("sent");
        assert!(matches!(server.receive("a", 4), Err(LinkError::Malformed { label: "a", .. })));
        assert!(server.send("a", vec![1]).is_err());
    }
    Ok(())
}

/// Waits for something that the background threads bring about.
fn eventually(mut happens: impl FnMut() -> bool) -> bool {
    (0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        happens()
    })
}

/// Waits until the peer has said goodbye, however much it says before.
fn read_to_goodbye(peer: &mut RawPeer) -> bool {
    let mut content = [0; 4096];
    loop {
        match peer.read(&mut content) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

#[test]
fn what_was_sent_arrives_although_its_sender_has_left() -> Result<(), LinkError> {
    let (mut server, mut client) = channels()?;
    let bytes = 40_000_000;
    // unread bytes at the sender must not reset the connection under its last words
    client.send("unread", vec![0; 100_000])?;
    let sender = std::thread::spawn(move || server.send("last words", pattern(bytes, 9)));
    assert!(client.receive("last words", bytes)? == pattern(bytes, 9));
    sender.join().expect("the sender panicked")?;
    assert!(matches!(client.receive("more", 1), Err(LinkError::Closed("more"))));
    Ok(())
}

#[test]
fn a_party_that_leaves_says_goodbye() -> Result<(), LinkError> {
    let (server, mut peer) = raw()?;
    drop(server);
    assert!(read_to_goodbye(&mut peer));
    Ok(())
}

#[test]
fn a_peer_that_left_is_reported_to_the_sender() -> Result<(), LinkError> {
    let (mut server, peer) = raw()?;
    drop(peer);
    assert!(eventually(|| {
        matches!(server.send("a", vec![0; 1000]), Err(LinkError::Closed("a")))
    }));
    Ok(())
}

//! One message of a whole session is not what it should be: both parties end in a typed error or in garbage, never in
//! a panic, and neither takes more memory than an honest run.
//!
//! `HOSTILE_ATTACKS=all` tries every attack on every message (minutes); else every second one meets one.

use degreespar_hostile::memory::Metered;
use degreespar_hostile::program::{Played, Program};
use degreespar_hostile::tamper::{Attack, links};
use degreespar_link::{Link, LinkError, Party, memory};
use degreespar_protocol::ProtocolError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

#[global_allocator]
static MEMORY: Metered = Metered::new();

/// Both parties of this program together. An honest run holds 73 million bytes at its most; how much exactly depends on which
/// parties' steps fall together.
const MOST_BYTES: usize = 128 << 20;

type End = (Result<Played, ProtocolError>, usize);

/// Both parties, server first; an error of the test if one of them panics.
fn play(
    program: &Program,
    (server, client): (Link, Link),
) -> Result<[End; 2], Box<dyn std::error::Error>> {
    let one = |link| catch_unwind(AssertUnwindSafe(|| program.play(link)));
    let (left, right) = thread::scope(|scope| {
        let left = scope.spawn(|| one(server));
        let right = one(client);
        (left.join(), right)
    });
    let left = left.map_err(|_| "the server's thread died")?.map_err(|_| "the server panicked")?;
    Ok([left, right.map_err(|_| "the client panicked")?])
}

fn check_end(end: &End, what: &str) {
    assert_eq!(end.1, 0, "{what}: everything is used up, or burnt by an error");
}

/// How many messages each party receives in an honest run, server first.
fn honest(program: &Program) -> Result<[usize; 2], Box<dyn std::error::Error>> {
    let (bytes, ends) = MEMORY.most_bytes_during(|| play(program, memory::links()));
    assert!(bytes < MOST_BYTES, "an honest run took {bytes} bytes");
    let [(server, _), (client, _)] = ends?;
    let (server, client) = (server?, client?);
    assert_eq!((server.revealed.len(), client.revealed.len()), (0, 7));
    Ok([server.messages, client.messages])
}

/// The attacks on a message: all, or one on every second message, another from message to message.
fn attacks(at: usize, victim: Party) -> Vec<Attack> {
    if std::env::var("HOSTILE_ATTACKS").is_ok_and(|which| which == "all") {
        return Attack::ALL.to_vec();
    }
    let (turn, offset) = if victim.is_server() { (at, 0) } else { (at + 1, 5) };
    if turn % 2 == 1 {
        return Vec::new();
    }
    vec![Attack::ALL[(turn / 2 + offset) % Attack::ALL.len()]]
}

#[test]
fn no_message_of_a_session_can_crash_or_bloat_its_receiver()
-> Result<(), Box<dyn std::error::Error>> {
    let program = Program::new()?;
    let counts = honest(&program)?;
    for (victim, count) in [Party::Server, Party::Client].into_iter().zip(counts) {
        for at in 0..count {
            for attack in attacks(at, victim) {
                let what = format!("{attack:?} on message {at} to the {victim:?}");
                let seed = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let ends = links(victim, attack, at, seed);
                let (bytes, ends) = MEMORY.most_bytes_during(|| play(&program, ends));
                let ends = ends.map_err(|error| format!("{what}: {error}"))?;
                assert!(bytes < MOST_BYTES, "{what}: {bytes} bytes");
                ends.iter().for_each(|end| check_end(end, &what));
                check_victim(&ends[usize::from(!victim.is_server())].0, attack, &what);
            }
        }
    }
    Ok(())
}

fn check_victim(end: &Result<Played, ProtocolError>, attack: Attack, what: &str) {
    let fits = match (attack, end) {
        (attack, Ok(_)) => attack.keeps_the_form() || attack == Attack::Again,
        (Attack::Short | Attack::Long | Attack::Empty, Err(ProtocolError::Link(error))) => {
            matches!(error, LinkError::Size { .. })
        }
        (Attack::Silence, Err(ProtocolError::Link(error))) => {
            matches!(error, LinkError::Timeout(..))
        }
        _ => true,
    };
    assert!(fits, "{what}: {:?}", end.as_ref().err());
}

//! Two whole sessions over the real layers, on the same inputs: transcripts of one shape and of unrelated content.

use degreespar_hostile::program::{Played, Program};
use degreespar_hostile::tap::{Seen, links};
use degreespar_link::Party;
use std::thread;

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Messages shorter than this may agree by chance.
const LONG_BYTES: usize = 24;
/// Equal bytes at equal places that two unrelated messages may have: 1/256 on average.
const MOST_EQUAL: f64 = 0.2;

type Transcript = ([Vec<Seen>; 2], Vec<u64>);

/// Everything that each party sent, in order, server first; and what the client learned.
fn transcript() -> Result<Transcript, Box<dyn std::error::Error>> {
    let program = Program::new()?;
    let (server, client, seen) = links();
    let (left, right) = thread::scope(|scope| {
        let left = scope.spawn(|| program.play(server).0);
        let right = program.play(client).0;
        (left.join(), right)
    });
    let (_, Played { revealed, .. }) = (left.map_err(|_| "the server panicked")??, right?);
    let (server, client) = seen.into_iter().partition(|seen| seen.sender == Party::Server);
    Ok(([server, client], revealed))
}

fn equal_share(a: &Seen, b: &Seen) -> f64 {
    let equal = a.payload.iter().zip(&b.payload).filter(|(a, b)| a == b).count();
    equal as f64 / a.payload.len() as f64
}

/// Whether it is long enough to compare and hides something: the answer is the difference of the revealed share and the
/// client's own, so that the client knows that message from the answer; it needs no mask and, behind steps that send
/// nothing of it, has none.
fn is_masked(seen: &Seen) -> bool {
    seen.payload.len() >= LONG_BYTES && seen.label != "reveal"
}

fn shape(seen: &Seen) -> (&'static str, usize) {
    (seen.label, seen.payload.len())
}

#[test]
fn sessions_on_equal_inputs_look_equal_and_say_nothing_alike() -> Tested {
    let ((first, answer), (second, again)) = (transcript()?, transcript()?);
    // floor or ceiling is the shares' choice
    assert!(answer.iter().zip(&again).all(|(a, b)| a.abs_diff(*b) <= 1), "{answer:?} {again:?}");
    for (first, second) in first.iter().zip(&second) {
        assert!(first.iter().map(shape).eq(second.iter().map(shape)));
        for (a, b) in first.iter().zip(second).filter(|(a, _)| is_masked(a)) {
            assert!(equal_share(a, b) < MOST_EQUAL, "{} repeats itself", a.label);
        }
    }
    Ok(())
}

#[test]
fn no_two_messages_of_a_session_are_alike_and_long_ones_are_balanced_noise() -> Tested {
    let (sent, _) = transcript()?;
    let all: Vec<&Seen> = sent.iter().flatten().filter(|seen| is_masked(seen)).collect();
    for (place, a) in all.iter().enumerate() {
        for b in &all[..place] {
            let alike = a.payload.len() == b.payload.len() && equal_share(a, b) >= MOST_EQUAL;
            assert!(!alike, "{} and {}: a mask or a pad serves twice", a.label, b.label);
        }
        if a.payload.len() >= 2000 {
            let ones: u32 = a.payload.iter().map(|byte| byte.count_ones()).sum();
            let share = f64::from(ones) / (8 * a.payload.len()) as f64;
            assert!((share - 0.5).abs() < 0.03, "{}: {share}", a.label);
        }
    }
    Ok(())
}

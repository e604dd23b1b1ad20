//! Which party plays the sender for which elements.
//!
//! In a one-sided protocol the sender's messages are larger than the receiver's. The server sends for the first half
//! of the elements and the client for the second, so that both directions of the link are equally busy.

use degreespar_link::Party;

/// A vector's first half, in which the server sends, and its second half, in which the client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Halves {
    server_sends: usize,
    client_sends: usize,
}

impl Halves {
    /// The halves of `count` elements.
    pub fn of(count: usize) -> Self {
        Self { server_sends: count.div_ceil(2), client_sends: count / 2 }
    }

    /// How many elements `party` sends for.
    pub fn sent_by(self, party: Party) -> usize {
        if party.is_server() { self.server_sends } else { self.client_sends }
    }

    /// The parts of `all` in which `party` sends and in which it receives.
    pub fn split<T>(self, party: Party, all: &[T]) -> (&[T], &[T]) {
        let (first, second) = all.split_at(self.server_sends);
        if party.is_server() { (first, second) } else { (second, first) }
    }

    /// Undoes `split`.
    pub fn join<T>(self, party: Party, mut sent: Vec<T>, mut received: Vec<T>) -> Vec<T> {
        if party.is_server() {
            sent.append(&mut received);
            sent
        } else {
            received.append(&mut sent);
            received
        }
    }
}

//! A peer that sends as much as it may on streams that nobody reads: it fills the granted buffers and no more.

use degreespar_hostile::memory::Metered;
use degreespar_link::mux::{BUFFER_BYTES, streams};
use degreespar_link::{Chunk, Duplex, Inbox, LineError, LinkError, Outbox, Stream, Streams};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[global_allocator]
static MEMORY: Metered = Metered::new();

/// Both streams' buffers, twice over: pieces are stored with what their vectors keep in reserve.
const MOST_BYTES: u64 = 2 * 2 * BUFFER_BYTES;
/// Too little room to be worth a grant of its own.
const LAST_GRANT_BYTES: u64 = 128 * 1024;
const LONG: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Account {
    granted: [AtomicU64; 2],
    sent: [AtomicU64; 2],
}

fn place(stream: Stream) -> usize {
    usize::from(stream == Stream::Prepare)
}

/// Sends chunks of the given sizes, in turn, on both streams.
struct Flood {
    account: Arc<Account>,
    sizes: Vec<usize>,
    turn: usize,
    keeps_to_grants: bool,
}

impl Inbox for Flood {
    fn receive(&mut self, _wait: Duration) -> Result<Option<Chunk>, LineError> {
        for _ in 0..Stream::ALL.len() {
            self.turn += 1;
            let stream = Stream::ALL[self.turn % 2];
            let size = self.sizes[self.turn / 2 % self.sizes.len()];
            let (granted, sent) =
                (&self.account.granted[place(stream)], &self.account.sent[place(stream)]);
            let room = granted.load(SeqCst).saturating_sub(sent.load(SeqCst));
            let size = if self.keeps_to_grants { size.min(room as usize) } else { size };
            if size > 0 {
                sent.fetch_add(size as u64, SeqCst);
                return Ok(Some(Chunk::Data(stream, vec![0; size])));
            }
        }
        sleep(Duration::from_millis(1));
        Ok(None)
    }
}

struct Grants(Arc<Account>);

impl Outbox for Grants {
    fn send(&mut self, chunk: Chunk) -> Result<(), LineError> {
        if let Chunk::Grant(stream, until) = chunk {
            self.0.granted[place(stream)].store(until, SeqCst);
        }
        Ok(())
    }
}

fn flood(
    sizes: &[usize],
    keeps_to_grants: bool,
) -> Result<(Streams, Arc<Account>), Box<dyn std::error::Error>> {
    let account = Arc::new(Account::default());
    // what a stream may have under way before the first grant
    account.granted.iter().for_each(|granted| granted.store(512 * 1024, SeqCst));
    let inbox =
        Flood { account: Arc::clone(&account), sizes: sizes.to_vec(), turn: 0, keeps_to_grants };
    Ok((streams(Duplex { outbox: Grants(Arc::clone(&account)), inbox })?, account))
}

#[test]
fn a_flood_costs_no_more_than_the_buffers_and_ends_where_it_breaks_the_rules()
-> Result<(), Box<dyn std::error::Error>> {
    a_flood_fills_the_granted_buffers_and_no_more()?;
    more_than_was_granted_ends_the_connection()
}

fn a_flood_fills_the_granted_buffers_and_no_more() -> Result<(), Box<dyn std::error::Error>> {
    for sizes in [&[64 * 1024][..], &[1, 4096], &[1000], &[1, 2, 3]] {
        let (bytes, outcome) = MEMORY.most_bytes_during(|| {
            let (streams, account) = flood(sizes, true)?;
            let until = Instant::now() + LONG;
            while account
                .sent
                .iter()
                .any(|sent| sent.load(SeqCst) < BUFFER_BYTES - LAST_GRANT_BYTES)
            {
                assert!(Instant::now() < until, "the buffers are never full");
                sleep(Duration::from_millis(5));
            }
            sleep(Duration::from_millis(50));
            assert!(account.sent.iter().all(|sent| sent.load(SeqCst) <= BUFFER_BYTES));
            streams.closer.close();
            Ok::<(), Box<dyn std::error::Error>>(())
        });
        outcome?;
        assert!((bytes as u64) < MOST_BYTES, "chunks of {sizes:?}: {bytes} bytes");
    }
    Ok(())
}

fn more_than_was_granted_ends_the_connection() -> Result<(), Box<dyn std::error::Error>> {
    let (bytes, outcome) = MEMORY.most_bytes_during(|| {
        let (mut streams, _) = flood(&[64 * 1024], false)?;
        // frames of zeros: empty ones, as many as are there
        let ended = loop {
            if let Err(error) = streams.prepare.receive("any", 0, LONG) {
                break error;
            }
        };
        Ok::<LinkError, Box<dyn std::error::Error>>(ended)
    });
    assert!(matches!(outcome?, LinkError::Malformed { .. }));
    assert!((bytes as u64) < MOST_BYTES, "{bytes} bytes");
    Ok(())
}

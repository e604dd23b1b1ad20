//! How wide a tournament's groups are: wider ones trade comparisons for flips.

use super::Level;
use crate::Primitive;
use crate::pairs::{OT_NS, bytes_for};
use degreespar_link::Direction;
use degreespar_ring::Ring;

/// Wider groups are never worth their comparisons.
const WIDEST: usize = 17;
/// What fewer flips may cost: so many times the least price.
const MOST_EXTRA: f64 = 1.3;

/// One way to play a tournament to its end.
#[derive(Debug, Clone, Default)]
struct Way {
    flips: u32,
    price: f64,
    widths: Vec<usize>,
}

/// The widths with the fewest flips among those that cost at most [`MOST_EXTRA`] times the cheapest; both parties find the same.
pub(super) fn choose(ring: Ring, rows: usize, cols: usize) -> Vec<usize> {
    let ways = Table { ring, rows, known: vec![None; cols + 1] }.ways(cols);
    let least = ways.iter().map(|way| way.price).fold(f64::INFINITY, f64::min);
    let fair = ways.into_iter().filter(|way| way.price <= MOST_EXTRA * least);
    fair.min_by_key(|way| way.flips).unwrap_or_default().widths
}

/// For every length of a row that was asked for, its ways: of each number of flips the cheapest.
struct Table {
    ring: Ring,
    rows: usize,
    known: Vec<Option<Vec<Way>>>,
}

impl Table {
    fn ways(&mut self, cols: usize) -> Vec<Way> {
        if cols < 2 {
            return vec![Way::default()];
        }
        if let Some(ways) = &self.known[cols] {
            return ways.clone();
        }
        let mut best: Vec<Way> = Vec::new();
        for width in 2..=WIDEST.min(cols) {
            let level = Level { ring: self.ring, rows: self.rows, cols, width };
            let (flips, price) = (level.schedule().flips(), price(&level));
            for rest in self.ways(level.groups()) {
                let widths = [vec![width], rest.widths].concat();
                let way = Way { flips: flips + rest.flips, price: price + rest.price, widths };
                match best.iter_mut().find(|known| known.flips == way.flips) {
                    None => best.push(way),
                    Some(known) if way.price < known.price => *known = way,
                    Some(_) => {}
                }
            }
        }
        self.known[cols] = Some(best.clone());
        best
    }
}

/// Bytes, those that the OTs' work is worth included.
fn price(level: &Level) -> f64 {
    let schedule = level.schedule();
    let bytes = schedule.bytes(Direction::ToClient) + schedule.bytes(Direction::ToServer);
    let cots = level.needs().into_iter().map(|need| need.cots());
    let ots: usize = cots.map(|cots| cots.server_sends + cots.client_sends).sum();
    bytes as f64 + ots as f64 * bytes_for(OT_NS)
}

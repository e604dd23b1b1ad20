//! AND gates on shared bits.

use crate::bits::{pack_plane, plane_bytes, unpack_plane, xor};
use crate::error::check_length;
use crate::wire::{Incoming, Outgoing, exchange, exchange_step};
use crate::{Context, Need, Primitive, ProtocolError};
use degreespar_link::Schedule;

const LABEL: &str = "and";

/// F_and: XOR-shared bits x and y -> XOR-shared x and y. Nobody learns anything new. One flip, two bits each way
/// (Beaver, CRYPTO 1991, over bits).
///
/// 1. Open: d = x xor a and f = y xor b, with the pair holding shares of a, b and ab.
/// 2. Local: z_i = (ab)_i xor d * b_i xor f * a_i, and the server adds d * f.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct And {
    /// How many gates.
    pub count: usize,
}

impl Primitive for And {
    fn needs(&self) -> Vec<Need> {
        vec![self.need()]
    }

    fn schedule(&self) -> Schedule {
        let bytes = 2 * plane_bytes(self.count);
        exchange_step(LABEL, bytes, bytes)
    }
}

impl And {
    /// Runs one party; bits one to a byte.
    pub fn run(
        &self,
        context: &mut Context<'_>,
        x: &[u8],
        y: &[u8],
    ) -> Result<Vec<u8>, ProtocolError> {
        check_length("the left bits of AND gates", self.count, x.len())?;
        check_length("the right bits of AND gates", self.count, y.len())?;
        let mut pairs = context.store.take_and_pairs(self.need())?;
        let Some(pair) = pairs.batches.pop() else {
            return Err(ProtocolError::Exhausted(self.need().kind()));
        };
        let mut mine = xor(&pack_plane(x), &pair.a);
        mine.extend(xor(&pack_plane(y), &pair.b[0]));
        let mut message = Outgoing::default();
        message.bytes(&mine); // step 1
        let theirs = exchange(context.channel, LABEL, message, mine.len())?;
        let opened = xor(&mine, &theirs);
        let mut opened = Incoming::new(LABEL, &opened);
        let bytes = plane_bytes(self.count);
        let (d, f) = (opened.bytes(bytes)?, opened.bytes(bytes)?);
        let server = if context.party().is_server() { 0xff } else { 0 };
        let [b, product] = [&pair.b[0], &pair.product[0]];
        // step 2
        let gate =
            |i: usize| product[i] ^ (d[i] & b[i]) ^ (f[i] & pair.a[i]) ^ (d[i] & f[i] & server);
        let plane: Vec<u8> = (0..bytes).map(gate).collect();
        Ok(unpack_plane(&plane, self.count))
    }

    fn need(&self) -> Need {
        Need::AndPairs { batches: 1, count: self.count }
    }
}

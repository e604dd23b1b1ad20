//! What preparation puts into the store.

use super::harness::{Outcome, Tested, WIDTHS, check_recording, in_two_threads, prepared};
use crate::bits::{unpack_plane, xor};
use crate::correlation::{AndPairs, Leaves, SquarePairs, Triples};
use crate::pairs::PairPlan;
use crate::{Need, Store, WeightTable};
use degreespar_link::{Channel, Party, memory};
use degreespar_ring::{Ring, RingError};
use std::collections::BTreeSet;

/// Both parties' stores for the same needs.
fn stores(needs: &[Need]) -> Outcome<[Store; 2]> {
    let (server, client) = memory::channels();
    let one = |mut channel: Channel| -> Outcome<Store> {
        let (declared, store) = prepared(&mut channel, needs, &WeightTable::default())?;
        check_recording(&channel.take_recording(), &declared);
        Ok(store)
    };
    let (server, client) = in_two_threads(|| one(server), || one(client));
    Ok([server?, client?])
}

/// The same take at both parties.
fn both<T>(stores: &mut [Store; 2], take: impl Fn(&mut Store) -> Outcome<T>) -> Outcome<[T; 2]> {
    let [server, client] = stores;
    Ok([take(server)?, take(client)?])
}

/// Takes square pairs and triples in the order of the needs and checks that they hold.
fn check_pairs(needs: &[Need]) -> Tested {
    let mut stores = stores(needs)?;
    for &need in needs {
        match need {
            Need::SquarePairs { ring, .. } => check_squares(&mut stores, need, ring)?,
            Need::Triples { ring, .. } => check_triples(&mut stores, need, ring)?,
            _ => return Err("neither squares nor triples".into()),
        }
    }
    Ok(())
}

fn sum(ring: Ring, server: &[u64], client: &[u64]) -> Vec<u64> {
    assert_eq!(server.len(), client.len());
    server.iter().zip(client).map(|(&s, &c)| ring.add(s, c)).collect()
}

fn check_squares(stores: &mut [Store; 2], need: Need, ring: Ring) -> Tested {
    let [s, c]: [SquarePairs; 2] = both(stores, |store| store.take_square_pairs(need))?;
    let (a, square) = (sum(ring, &s.a, &c.a), sum(ring, &s.square, &c.square));
    assert!(a.iter().zip(&square).all(|(&a, &square)| ring.mul(a, a) == square));
    assert!(a.iter().collect::<BTreeSet<_>>().len() > 70, "a must be random");
    assert!(top_bit_varies(ring, &s.a) && top_bit_varies(ring, &c.a));
    Ok(())
}

fn check_triples(stores: &mut [Store; 2], need: Need, ring: Ring) -> Tested {
    let [s, c]: [Triples; 2] = both(stores, |store| store.take_triples(need))?;
    let (a, b) = (sum(ring, &s.a, &c.a), sum(ring, &s.b, &c.b));
    let product = sum(ring, &s.product, &c.product);
    assert!((0..a.len()).all(|i| ring.mul(a[i], b[i]) == product[i]));
    assert!(top_bit_varies(ring, &a) && top_bit_varies(ring, &b));
    Ok(())
}

#[test]
fn pairs_and_triples_hold_in_every_width() -> Tested {
    for bits in WIDTHS {
        let ring = Ring::new(bits)?;
        let squares = Need::SquarePairs { ring, count: 101 };
        check_pairs(&[squares, Need::Triples { ring, count: 77 }, squares])?;
    }
    Ok(())
}

/// Large batches of several widths are joined on ciphertexts; small ones and the widest rings beside them are of OTs.
#[test]
fn pairs_of_ciphertexts_and_of_ots_come_in_the_order_of_the_needs() -> Tested {
    let squares = |bits, count| -> Result<Need, RingError> {
        Ok(Need::SquarePairs { ring: Ring::new(bits)?, count })
    };
    let triples = |bits, count| -> Result<Need, RingError> {
        Ok(Need::Triples { ring: Ring::new(bits)?, count })
    };
    let needs = [
        squares(28, 5000)?,
        squares(64, 120)?,
        squares(30, 3000)?,
        triples(34, 9000)?,
        squares(37, 7000)?,
        triples(64, 101)?,
        triples(37, 7001)?,
        triples(20, 103)?,
    ];
    let plan = PairPlan::of(&needs);
    assert_eq!(plan.by_ot, [1, 5, 7]);
    check_pairs(&needs)
}

fn top_bit_varies(ring: Ring, values: &[u64]) -> bool {
    let ones = values.iter().filter(|&&value| value >> (ring.bits() - 1) == 1).count();
    ones > values.len() / 3 && ones < values.len() * 2 / 3
}

#[test]
fn and_pairs_hold_and_are_balanced() -> Tested {
    let need = Need::AndPairs { batches: 2, count: 2001 };
    let [s, c]: [AndPairs; 2] = both(&mut stores(&[need])?, |s| s.take_and_pairs(need))?;
    assert_eq!((s.batches.len(), c.batches.len()), (2, 2));
    for (s, c) in s.batches.iter().zip(&c.batches) {
        let sum = |s: &[u8], c: &[u8]| unpack_plane(&xor(s, c), 2001);
        let a = sum(&s.a, &c.a);
        assert!((850..1150).contains(&ones(&a)));
        for bit in 0..2 {
            let (b, product) = (sum(&s.b[bit], &c.b[bit]), sum(&s.product[bit], &c.product[bit]));
            assert!((850..1150).contains(&ones(&b)));
            assert!((0..2001).all(|i| a[i] & b[i] == product[i]));
        }
    }
    assert_ne!(s.batches[0].a, s.batches[1].a);
    Ok(())
}

fn ones(bits: &[u8]) -> usize {
    bits.iter().map(|&bit| usize::from(bit)).sum()
}

#[test]
fn the_receiver_holds_exactly_its_entry_of_the_senders_table() -> Tested {
    let need = Need::Leaves { sender: Party::Client, value_bits: 11, thresholds: 4, count: 500 };
    let [chosen, pads] = both(&mut stores(&[need])?, |store| store.take_leaves(need))?;
    let (Leaves::Received(chosen), Leaves::Sent(pads)) = (chosen, pads) else {
        return Err("the client must be the sender".into());
    };
    let widths = [4, 4, 3];
    let mut equal_elsewhere = 0;
    for (digit, width) in widths.into_iter().enumerate() {
        for i in 0..4 * 500 {
            let table = pads.digits[digit][i];
            let choice = u32::from(chosen.choices[digit][i % 500]);
            assert!(choice < 1 << width);
            let entry = |k: u32| (table >> k & 1) | (table >> (16 + k) & 1) << 1;
            assert_eq!(entry(choice), u32::from(chosen.pads[digit][i]));
            equal_elsewhere += usize::from(entry(choice ^ 1) == entry(choice));
        }
    }
    let share = equal_elsewhere as f64 / (3.0 * 2000.0);
    assert!((share - 0.25).abs() < 0.03, "other entries must be independent, {share} are equal");
    Ok(())
}

#[test]
fn batches_of_one_kind_differ() -> Tested {
    let need = Need::Leaves { sender: Party::Server, value_bits: 8, thresholds: 1, count: 50 };
    let mut stores = stores(&[need, need])?;
    let tables = |store: &mut Store| match store.take_leaves(need) {
        Ok(Leaves::Sent(pads)) => pads.digits,
        _ => Vec::new(),
    };
    let (first, second) = (tables(&mut stores[0]), tables(&mut stores[0]));
    assert_eq!((first.len(), second.len()), (2, 2));
    assert_ne!(first, second);
    Ok(())
}

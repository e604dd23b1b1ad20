//! How fast two parties exchange frames on this machine: `cargo run --release -p degreespar-link --example throughput`
//!
//! Both parties run in this process and send the same amount at the same time; each on its own thread.

use degreespar_link::shaped::{Shape, shaped};
use degreespar_link::tls::{Connection, Identity, Listener, connect};
use degreespar_link::{Channel, Link, LinkError, Party, Streams, mux};
use std::error::Error;
use std::time::{Duration, Instant};

const MESSAGE_BYTES: usize = 20_000_000;
const MESSAGES: usize = 10;
const ROUND_TRIPS: usize = 2000;
const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (server, client) = pair()?;
    report("TLS", mux::streams(server.line)?, mux::streams(client.line)?)?;
    let (server, client) = pair()?;
    report(
        "TLS shaped as a LAN of 3 Gbit/s and 0.4 ms one way",
        mux::streams(shaped(server.line, Shape::LAN))?,
        mux::streams(shaped(client.line, Shape::LAN))?,
    )
}

fn pair() -> Result<(Connection, Connection), LinkError> {
    let (server, client) = (Identity::generate("server")?, Identity::generate("client")?);
    let listener = Listener::bind("127.0.0.1:0", &server, &[client.fingerprint()])?;
    let (address, trusted) = (listener.address()?.to_string(), [server.fingerprint()]);
    let connecting = std::thread::spawn(move || connect(&address, &client, &trusted, LONG));
    let accepted = listener.accept(LONG, LONG)?.ok_or(LinkError::Closed("accept"))?;
    Ok((accepted, joined(connecting)?))
}

fn report(
    name: &str,
    server: Streams,
    client: Streams,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut server = Link::new(Party::Server, server).answer;
    let mut client = Link::new(Party::Client, client).answer;
    let peer = std::thread::spawn(move || -> Result<(), LinkError> {
        exchange(&mut client)?;
        for _ in 0..ROUND_TRIPS {
            let ping = client.receive("ping", 8)?;
            client.send("pong", ping)?;
        }
        Ok(())
    });
    let megabytes_per_s = (MESSAGES * MESSAGE_BYTES) as f64 / 1e6 / exchange(&mut server)?;
    let start = Instant::now();
    for _ in 0..ROUND_TRIPS {
        server.send("ping", vec![0; 8])?;
        server.receive("pong", 8)?;
    }
    let round_trip_us = start.elapsed().as_secs_f64() * 1e6 / ROUND_TRIPS as f64;
    joined(peer)?;
    println!(
        "{name}: {megabytes_per_s:.0} MB/s in each direction at once, round trip {round_trip_us:.0} us"
    );
    Ok(())
}

/// Seconds for all messages, both ways.
fn exchange(channel: &mut Channel) -> Result<f64, LinkError> {
    let messages = vec![vec![0x5a; MESSAGE_BYTES]; MESSAGES];
    let start = Instant::now();
    for message in messages {
        channel.exchange("bulk", message, MESSAGE_BYTES)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

fn joined<T>(thread: std::thread::JoinHandle<Result<T, LinkError>>) -> Result<T, LinkError> {
    thread.join().unwrap_or(Err(LinkError::Closed("the other party panicked")))
}

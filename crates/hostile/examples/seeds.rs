//! Writes sound inputs of every fuzz target to DIR/TARGET/: `cargo run -p degreespar-hostile --example seeds DIR`, and
//! prints the targets' names with their longest input, for `scripts/fuzz.sh`.

use degreespar_hostile::targets::{TARGETS, seeds};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("fuzz/corpus".into()));
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in seeds(target.name).into_iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
        println!("{} {}", target.name, target.most_bytes);
    }
    Ok(())
}

//! Reads the peers' versions from the lock file, so that a record names those that were measured. It does not
//! know how they are measured.

use std::{env, fs, path::Path};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let lock =
        fs::read_to_string(Path::new(&root).join("Cargo.lock")).expect("cargo has locked the versions");
    for name in ["ndarray", "candle-core", "burn-flex"] {
        // If a dependency brings an older version, the one that is used here comes last.
        let version = lock
            .split("[[package]]")
            .filter(|package| package.contains(&format!("name = \"{name}\"\n")))
            .last()
            .and_then(|package| package.split("version = \"").nth(1)?.split('"').next());
        let variable = name.to_uppercase().replace('-', "_");
        println!("cargo::rustc-env=VERSION_{variable}={}", version.unwrap_or("unknown"));
    }
    println!("cargo::rerun-if-changed=Cargo.lock");
}

//! No bytes read as NPZ panic, hang or unpack to more than deflate can.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use zerostride::io::{Container, Format};

fuzz_target!(|file: &[u8]| {
    if let Ok(mut container) = Container::new(Cursor::new(file), Format::Npz) {
        let total: u64 = container.entries().iter().map(|entry| entry.bytes()).sum();
        assert!(total <= 1032 * (file.len() as u64 + 1));
        for index in 0..container.entries().len() {
            let _ = container.read(index);
        }
    }
});

//! No bytes read as NPZ, or as a member of one, panic, hang or unpack to more than deflate can.

#![no_main]

use std::io::{Cursor, Write};

use libfuzzer_sys::fuzz_target;
use zerostride::io::{Container, Format};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

fn read(file: &[u8]) {
    if let Ok(mut container) = Container::new(Cursor::new(file), Format::Npz) {
        let total: u64 = container.entries().iter().map(|entry| entry.bytes()).sum();
        assert!(total <= 1032 * (file.len() as u64 + 1));
        for index in 0..container.entries().len() {
            let _ = container.read(index);
        }
    }
}

/// An archive with a right checksum around `content`, its last bytes replaced by `tail`.
fn packed(content: &[u8], method: CompressionMethod, tail: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("x.npy", SimpleFileOptions::default().compression_method(method)).unwrap();
    writer.write_all(content).unwrap();
    let mut file = writer.finish().unwrap().into_inner();
    let end = file.len();
    file[end - tail.len()..].copy_from_slice(tail);
    file
}

fuzz_target!(|input: &[u8]| {
    read(input);
    // The directory and its end are 73 bytes long.
    let (tail, content) = input.split_at(input.len().min(73));
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        read(&packed(input, method, b""));
        read(&packed(content, method, tail));
    }
});

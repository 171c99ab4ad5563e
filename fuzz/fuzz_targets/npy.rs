//! No bytes read as NPY panic, hang or allocate more than a few times their length.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use zerostride::io::{Container, Format};

fuzz_target!(|file: &[u8]| {
    if let Ok(mut container) = Container::new(Cursor::new(file), Format::Npy) {
        let bytes = container.entries()[0].bytes();
        assert!(bytes < file.len() as u64);
        if let Ok(tensor) = container.read(0) {
            assert_eq!((tensor.numel() * tensor.dtype().item_size()) as u64, bytes);
        }
    }
});

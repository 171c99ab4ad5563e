//! No bytes read as safetensors panic, and what is read is what the reference implementation reads.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use safetensors::SafeTensors;
use zerostride::io::{Container, Format};

fuzz_target!(|file: &[u8]| {
    let Ok(mut container) = Container::new(Cursor::new(file), Format::Safetensors) else { return };
    // The reference implementation refuses a whole file for one dtype that it does not know.
    let listed_only = container.entries().iter().any(|entry| entry.dtype().is_none());
    let reference = SafeTensors::deserialize(file);
    assert!(listed_only || reference.is_ok());
    for index in 0..container.entries().len() {
        let Ok(tensor) = container.read(index) else { continue };
        if let Ok(reference) = &reference {
            let expected = reference.tensor(container.entries()[index].name().unwrap()).unwrap();
            assert_eq!(tensor.shape(), expected.shape());
        }
    }
});

//! No bytes read as safetensors panic, and what is read is what the reference implementation reads.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use safetensors::SafeTensors;
use zerostride::Error;
use zerostride::io::{Container, Format, Problem};

fn read(file: &[u8]) -> Result<(), Error> {
    let mut container = Container::new(Cursor::new(file), Format::Safetensors)?;
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
    Ok(())
}

/// The file with as many bytes of data as its header promises.
fn fitted(file: &[u8], error: &Error) -> Option<Vec<u8>> {
    let Error::Io(error) = error else { return None };
    let start = 8 + u64::from_le_bytes(*file.first_chunk()?);
    let length = match *error.problem() {
        Problem::Offsets { end, .. } => start.checked_add(end)?,
        Problem::Trailing { offset, .. } => offset,
        _ => return None,
    };
    let length = usize::try_from(length).ok().filter(|&length| length <= 1 << 16)?;
    let mut file = file.to_vec();
    file.resize(length, 0x5a);
    Some(file)
}

fuzz_target!(|input: &[u8]| {
    let _ = read(input);
    // The same bytes as a header, its length in front.
    let mut file = [&(input.len() as u64).to_le_bytes()[..], input].concat();
    for _ in 0..4 {
        let Err(error) = read(&file) else { return };
        let Some(longer) = fitted(&file, &error) else { return };
        file = longer;
    }
});

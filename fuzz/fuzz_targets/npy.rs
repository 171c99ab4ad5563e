//! No bytes read as NPY panic, hang or allocate more than a few times their length.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use zerostride::Error;
use zerostride::io::{Container, Format, Problem};

fn read(file: &[u8]) -> Result<(), Error> {
    let mut container = Container::new(Cursor::new(file), Format::Npy)?;
    let bytes = container.entries()[0].bytes();
    assert!(bytes < file.len() as u64);
    let tensor = container.read(0)?;
    assert_eq!((tensor.numel() * tensor.dtype().item_size()) as u64, bytes);
    Ok(())
}

/// The file with data of the length that its header promises, so that more than headers are read.
fn fitted(file: &[u8], error: &Error) -> Option<Vec<u8>> {
    let Error::Io(error) = error else { return None };
    let length = match *error.problem() {
        Problem::Truncated { offset, needed, .. } => offset.checked_add(needed)?,
        Problem::Trailing { offset, .. } => offset,
        _ => return None,
    };
    let length = usize::try_from(length).ok().filter(|&length| length <= 1 << 16)?;
    let mut file = file.to_vec();
    file.resize(length, 0x5a);
    Some(file)
}

fuzz_target!(|file: &[u8]| {
    if let Err(error) = read(file)
        && let Some(file) = fitted(file, &error)
    {
        let error = read(&file).err();
        assert!(!matches!(&error, Some(error) if fitted(&file, error).is_some()), "{error:?}");
    }
});

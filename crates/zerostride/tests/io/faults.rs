//! Whichever read or seek fails, an error says so and nothing panics.

use std::io::{Cursor, Error, Read, Result, Seek, SeekFrom};

use zerostride::io::{Container, Format};

use crate::golden_file;

/// A file whose every call after the first `left` ones fails, or which then ends.
struct Failing<'a> {
    file: Cursor<&'a [u8]>,
    left: usize,
    ends: bool,
}

impl Failing<'_> {
    /// Whether this call goes through.
    fn count(&mut self) -> bool {
        let goes = self.left > 0;
        self.left = self.left.saturating_sub(1);
        goes
    }
}

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        match (self.count(), self.ends) {
            (true, _) => self.file.read(out),
            (false, true) => Ok(0),
            (false, false) => Err(Error::from_raw_os_error(5)),
        }
    }
}

impl Seek for Failing<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        if self.count() || self.ends { self.file.seek(to) } else { Err(Error::from_raw_os_error(5)) }
    }
}

#[test]
fn the_nth_call_that_fails_is_reported_for_every_n() {
    for (format, name) in [
        (Format::Npy, "v1.npy"),
        (Format::Npy, "fortran.npy"),
        (Format::Npz, "stored.npz"),
        (Format::Npz, "layouts.npz"),
        (Format::Safetensors, "plain.safetensors"),
    ] {
        let bytes = golden_file(name);
        for ends in [false, true] {
            let run = |left| {
                let mut container =
                    Container::new(Failing { file: Cursor::new(&bytes), left, ends }, format)?;
                container.read(0)
            };
            let needed = (0..).find(|&left| run(left).is_ok()).unwrap();
            assert!(needed > 2 && run(needed - 1).is_err());
            if !ends {
                let error = run(needed - 1).unwrap_err().to_string();
                assert!(error.contains("cannot read it: "), "{error}");
            }
        }
    }
}

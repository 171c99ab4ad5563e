//! Owns the outputs of commands: their names are checked, and results go to them. It does not know what is
//! written.

use std::io::{self, IsTerminal, Seek, SeekFrom, Stdout, Write, stdout};
use std::path::Path;

use zerostride::io::{Destination, Format, Sink, save_bytes};
use zerostride::stream::{InMemory, Output};
use zerostride::{DType, Tensor};

use crate::args::{self, EvalArgs, StreamFormat};
use crate::failure::{Report, Result};
use crate::file_text::{STANDARD, is_table};
use crate::words::say;
use crate::{table, terminal};

/// Refuses a name that exists, unless it may be replaced.
pub(super) fn keep_what_is_there(path: &Path, force: bool) -> Result {
    if force || path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Report::usage(say!("exists", path = path.display().to_string())).help(say!("force-replaces")).into())
}

/// Where a result of `zs eval` goes.
pub(super) enum Target<'a> {
    Sink(Box<Sink>),
    /// A table in a file, or on standard output without one.
    Table(Option<&'a Path>, InMemory),
}

impl<'a> Target<'a> {
    /// Checks an output before any file is read, and with the dtype and shape of its result before it is
    /// computed.
    pub(super) fn check(path: &Path, args: &EvalArgs, array: Option<(DType, &[usize])>) -> Result {
        let is_standard = path == Path::new(STANDARD);
        if is_standard && args.format == StreamFormat::Npy && stdout().is_terminal() {
            return Err(Report::usage(say!("terminal-and-npy")).help(say!("format-csv")).into());
        }
        if is_standard && args.json {
            return Err(Report::usage(say!("json-in-the-way")).into());
        }
        if is_table(path) || is_standard && args.format == StreamFormat::Csv {
            array.map_or(Ok(()), |(_, shape)| table::check(shape))?;
        }
        if is_standard {
            return Ok(());
        }
        let is_known = is_table(path) || Format::from_path(path).is_some();
        if !is_known {
            return Err(Report::usage(say!("no-known-format", path = path.display().to_string()))
                .help(say!("written-formats"))
                .into());
        }
        keep_what_is_there(path, args.force)?;
        if is_table(path) { Ok(()) } else { Ok(Sink::check(path, args.force, array)?) }
    }

    pub(super) fn open(path: &'a Path, args: &EvalArgs) -> zerostride::Result<Target<'a>> {
        let sink = match (path == Path::new(STANDARD), args.format) {
            (true, StreamFormat::Csv) => return Ok(Target::Table(None, InMemory::default())),
            (true, StreamFormat::Npy) => Sink::new(Box::new(Standard(stdout())), Format::Npy),
            _ if is_table(path) => return Ok(Target::Table(Some(path), InMemory::default())),
            _ if args.force => Sink::create(path)?,
            _ => Sink::create_new(path)?,
        };
        let compression = match args.compress {
            args::Compress::None => zerostride::io::Compression::None,
            args::Compress::Lz4 => zerostride::io::Compression::Lz4,
            args::Compress::Gzip => zerostride::io::Compression::Gzip,
            args::Compress::Zstd => zerostride::io::Compression::Zstd,
        };
        let format = match args.zarr_format {
            args::ZarrFormat::V2 => zerostride::io::ZarrFormat::V2,
            args::ZarrFormat::V3 => zerostride::io::ZarrFormat::V3,
        };
        Ok(Target::Sink(Box::new(sink.compress(compression).zarr_format(format))))
    }

    pub(super) fn output(&mut self) -> &mut dyn Output {
        match self {
            Target::Sink(sink) => &mut **sink,
            Target::Table(_, result) => result,
        }
    }

    /// Writes what has been kept in memory for that.
    pub(super) fn finish(self, force: bool) -> Result {
        match self {
            Target::Sink(_) => Ok(()),
            Target::Table(path, result) => write_table(path, &result.into_tensor()?, force),
        }
    }
}

fn write_table(path: Option<&Path>, tensor: &Tensor, force: bool) -> Result {
    let Some(path) = path else { return table::write(tensor, &mut terminal::stdout()) };
    let mut text = Vec::new();
    table::write(tensor, &mut text)?;
    Ok(save_bytes(path, &text, force)?)
}

/// Standard output, which has no name to get.
struct Standard(Stdout);

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Standard {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Destination for Standard {
    fn reserve(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

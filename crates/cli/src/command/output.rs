//! Owns the outputs of commands: their names are checked, and results go to them. It does not know what is
//! written.

use std::collections::HashSet;
use std::fs;
use std::io::{self, IsTerminal, Seek, SeekFrom, Stdout, Write, stdout};
use std::path::{Path, PathBuf};

use zerostride::io::{Compression, Destination, Format, Sink, ZarrFormat, save_bytes};
use zerostride::stream::{InMemory, Output};
use zerostride::{DType, Tensor};

use crate::args::{self, EvalArgs, StreamFormat};
use crate::failure::{Report, Result};
use crate::file_text::{STANDARD, has_tabs, is_table};
use crate::words::say;
use crate::{table, terminal};

/// Refuses a name that exists, unless it may be replaced.
pub(super) fn keep_what_is_there(path: &Path, force: bool) -> Result {
    if force || path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Report::usage(say!("exists", path = path.display().to_string())).help(say!("force-replaces")).into())
}

/// Refuses `--force` where no file can be replaced.
pub(super) fn force_needs_a_file(force: bool, has_output: bool) -> Result {
    if force && !has_output {
        return Err(Report::usage(say!("force-without-output")).help(say!("name-the-output")).into());
    }
    Ok(())
}

/// Checks the outputs of `zs eval`, and the options that are about outputs, before any file is read.
pub(super) fn check(args: &EvalArgs) -> Result {
    force_needs_a_file(args.force, !args.output.is_empty())?;
    let is_store = |path: &PathBuf| Format::from_path(path) == Some(Format::Zarr);
    if args.format.is_some() && !args.output.iter().any(|path| is_standard(path)) {
        return Err(Report::usage(say!("format-without-stream")).help(say!("stream-or-ending")).into());
    }
    if !args.output.iter().any(is_store) {
        let given = [("--compress", args.compress.is_some()), ("--zarr-format", args.zarr_format.is_some())];
        if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Report::usage(say!("option-without-store", option = option))
                .help(say!("write-a-store"))
                .into());
        }
    }
    args.output.iter().try_for_each(|path| Target::check(path, args, None))?;
    let mut places = HashSet::new();
    match args.output.iter().find(|path| !places.insert(place(path))) {
        Some(path) => {
            let name = if is_standard(path) { say!("standard-output") } else { path.display().to_string() };
            Err(Report::usage(say!("output-twice", output = name)).help(say!("output-of-its-own")).into())
        }
        None => Ok(()),
    }
}

fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Where an output is, however its path is written.
fn place(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Some(fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?.join(path.file_name()?))
    };
    // A file that exists may be reached through a link.
    fs::canonicalize(path).ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
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
        let is_standard = is_standard(path);
        let format = args.format.unwrap_or(StreamFormat::Npy);
        if is_standard && format == StreamFormat::Npy && stdout().is_terminal() {
            return Err(Report::usage(say!("terminal-and-npy")).help(say!("format-csv")).into());
        }
        if is_standard && args.json {
            return Err(Report::usage(say!("json-in-the-way")).into());
        }
        if is_table(path) || is_standard && format == StreamFormat::Csv {
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
        let sink = match (is_standard(path), args.format) {
            (true, Some(StreamFormat::Csv)) => return Ok(Target::Table(None, InMemory::default())),
            (true, _) => Sink::new(Box::new(Standard(stdout())), Format::Npy).named(&say!("standard-output")),
            _ if is_table(path) => return Ok(Target::Table(Some(path), InMemory::default())),
            _ if args.force => Sink::create(path)?,
            _ => Sink::create_new(path)?,
        };
        let compression = args.compress.map_or_else(Compression::default, |how| match how {
            args::Compress::None => Compression::None,
            args::Compress::Lz4 => Compression::Lz4,
            args::Compress::Gzip => Compression::Gzip,
            args::Compress::Zstd => Compression::Zstd,
        });
        let format = args.zarr_format.map_or_else(ZarrFormat::default, |version| match version {
            args::ZarrFormat::V2 => ZarrFormat::V2,
            args::ZarrFormat::V3 => ZarrFormat::V3,
        });
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
    let Some(path) = path else { return table::write(tensor, ",", &mut terminal::stdout()) };
    let mut text = Vec::new();
    let separator = if has_tabs(path) { "\t" } else { "," };
    table::write(tensor, separator, &mut text)?;
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

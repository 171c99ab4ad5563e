//! Owns the engine's errors in the user's language. In English they are the engine's own lines, which are
//! PyTorch's where PyTorch has one; in Italian the common ones are translated, and others stay as they are.

use std::io::{Error as SystemError, ErrorKind};

use zerostride::io::{FileError, Printable, Problem};
use zerostride::policy::{Class, Objection};
use zerostride::{Error, OpError, ShapeError};
use zerostride_explain::Lang;

use super::{lang, say};

/// The line of an error.
pub(crate) fn of(error: &Error) -> String {
    translated(error).unwrap_or_else(|| error.to_string())
}

/// What the operating system answered.
pub(crate) fn of_system(error: &SystemError) -> String {
    match error.kind() {
        _ if lang() == Lang::En => error.to_string(),
        ErrorKind::NotFound => say!("system-not-found"),
        ErrorKind::PermissionDenied => say!("system-permission"),
        ErrorKind::IsADirectory => say!("system-folder"),
        ErrorKind::StorageFull => say!("system-full"),
        _ => error.to_string(),
    }
}

/// What a policy has against a broadcast.
pub(crate) fn objection(objection: &Objection) -> String {
    if lang() == Lang::En {
        return objection.to_string();
    }
    let record = &objection.record;
    let shapes =
        record.shapes.iter().map(ToString::to_string).reduce(|all, one| say!("and", first = all, last = one));
    let (shapes, result) = (shapes.unwrap_or_default(), record.result.to_string());
    let why = match objection.class {
        Class::RankAdded => say!("policy-rank-added"),
        Class::Stretched => say!("policy-stretched"),
        Class::MutualStretch => say!("policy-mutual-stretch"),
        Class::SameNumel => say!("policy-same-numel"),
        Class::BlowUp => {
            let [bytes, limit] = [record.bytes, objection.max_bytes].map(|bytes| bytes.to_string());
            say!("policy-blow-up", bytes = bytes, limit = limit)
        }
    };
    let (class, op) = (objection.class.name(), &*record.op);
    say!("policy-objection", class = class, op = op, shapes = shapes, result = result, why = why)
}

fn translated(error: &Error) -> Option<String> {
    if lang() == Lang::En {
        return None;
    }
    Some(match error.root() {
        Error::Shape(error) => return of_shapes(error),
        Error::Op(error) => return of_dtypes(error),
        Error::Io(error) => return of_file(error),
        Error::Policy(found) => say!("policy-refuses", objection = objection(found)),
        Error::ZeroDivision => say!("division-by-zero"),
        Error::NegativePower => say!("engine-negative-power"),
        Error::WriteToExpanded => say!("engine-write-to-expanded"),
        Error::PartialOverlap => say!("engine-partial-overlap"),
        Error::Interrupted => say!("engine-interrupted"),
        Error::OutOfMemory { bytes, shape } => {
            say!("engine-out-of-memory", bytes = bytes.to_string(), shape = shape.to_string())
        }
        Error::OutOfScratch { bytes, shape } => {
            say!("engine-out-of-scratch", bytes = bytes.to_string(), shape = shape.to_string())
        }
        Error::Length { shape, len } => {
            say!("engine-reshape", shape = shape.to_string(), numel = len.to_string())
        }
        _ => return None,
    })
}

fn of_shapes(error: &ShapeError) -> Option<String> {
    Some(match error {
        ShapeError::Incompatible { a, b, dim, .. } => {
            say!("engine-incompatible", a = a.to_string(), b = b.to_string(), dim = *dim)
        }
        ShapeError::InPlace { output, broadcast } => {
            say!("engine-in-place", output = output.to_string(), broadcast = broadcast.to_string())
        }
        ShapeError::ExpandMismatch { target, existing, dim, .. } => {
            let (target, existing) = (target.to_string(), existing.to_string());
            say!("engine-expand", target = target, existing = existing, dim = *dim)
        }
        ShapeError::DimOutOfRange { dim, ndim } => {
            let (first, last) = (-(*ndim as i128), *ndim as i128 - 1);
            say!("engine-dim", dim = dim.to_string(), first = first.to_string(), last = last.to_string())
        }
        ShapeError::DuplicateDim { dim } => say!("engine-dim-twice", dim = *dim),
        ShapeError::InvalidNumel { sizes, numel } => {
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            let shape = format!("[{}]", sizes.join(", "));
            say!("engine-reshape", shape = shape, numel = numel.to_string())
        }
        ShapeError::SelectIndex { index, sizes, dim } => {
            let (index, size) = (index.to_string(), sizes[*dim].to_string());
            say!("engine-index", index = index, size = size, dim = *dim)
        }
        ShapeError::NumelOverflow { .. } | ShapeError::BytesOverflow { .. } => say!("engine-no-memory-holds"),
        ShapeError::RankTooHigh { ndim } => say!("engine-rank", ndim = *ndim),
        _ => return None,
    })
}

fn of_dtypes(error: &OpError) -> Option<String> {
    Some(match *error {
        OpError::Promotion { a, b } => say!("engine-promotion", a = a.name(), b = b.name()),
        OpError::Unsupported { op, dtype } => {
            say!("engine-unsupported", op = op.name(), dtype = dtype.name())
        }
        OpError::BoolSubtraction { .. } => say!("engine-bool-subtraction"),
        OpError::Mixed { op, first, other, .. } => {
            say!("engine-mixed", op = op.name(), first = first.name(), other = other.name())
        }
        OpError::NotBool { op, dtype } => say!("engine-not-bool", op = op.name(), dtype = dtype.name()),
        OpError::Overflow { dtype } => say!("engine-overflow", dtype = dtype.name()),
        OpError::Cast { from, to } => say!("engine-cast", from = from.name(), to = to.name()),
        _ => return None,
    })
}

fn of_file(error: &FileError) -> Option<String> {
    let problem = of_problem(error.problem())?;
    let file = Printable(error.file()).to_string();
    Some(match error.entry() {
        Some(entry) => {
            let entry = Printable(entry).to_string();
            say!("in-array", file = file, entry = entry, problem = problem)
        }
        None => say!("in-file", file = file, problem = problem),
    })
}

fn of_problem(problem: &Problem) -> Option<String> {
    Some(match problem {
        Problem::Io { action, source } => {
            let action = match *action {
                "open it" => say!("file-open"),
                "read it" => say!("file-read"),
                "write it" => say!("file-write"),
                "list it" => say!("file-list"),
                "map it" => say!("file-map"),
                _ => say!("file-use"),
            };
            say!("file-cannot", action = action, error = of_system(source))
        }
        Problem::NotRegular { .. } => say!("file-not-regular"),
        Problem::Exists => say!("file-exists"),
        Problem::ReadOnly => say!("file-read-only"),
        Problem::Replaced => say!("file-replaced"),
        Problem::UnknownFormat { .. } => say!("file-unknown-format"),
        Problem::UnknownEnding => say!("file-unknown-ending"),
        Problem::NotThisFormat { format, .. } => say!("file-not-this-format", format = format.to_string()),
        Problem::Truncated { offset, needed, found } => {
            let [offset, needed, found] = [offset, needed, found].map(ToString::to_string);
            say!("file-truncated", offset = offset, needed = needed, found = found)
        }
        Problem::Shrank => say!("file-shrank"),
        Problem::NoSuchArray { name, known } => {
            let name = Printable(name).to_string();
            say!("file-no-such-array", name = name, holdings = holdings(known))
        }
        Problem::NotSingle { known } if known.is_empty() => say!("file-without-arrays"),
        Problem::NotSingle { known } => say!("file-not-single", holdings = holdings(known)),
        Problem::OneArray { format, count } => {
            say!("file-one-array", format = format.to_string(), count = *count)
        }
        Problem::Member(problem) => return of_problem(problem),
        _ => return None,
    })
}

/// The names that a file holds; the first few stand for all.
fn holdings(known: &[String]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{}`", Printable(name))).collect();
    let more = if known.len() > SHOWN { ", …" } else { "" };
    say!("file-holds", count = known.len(), names = names.join(", ") + more)
}

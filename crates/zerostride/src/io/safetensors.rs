//! Owns the safetensors format: a length, a JSON header, and data without gaps. It does not know where the
//! bytes come from.
//!
//! The `safetensors` crate needs the whole file in memory and accepts repeated names, so the header is parsed
//! here; tests compare this reader with that crate.
//!
//! Source: the format's description in the README of `safetensors`.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{Read, Write};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use zerostride_ops::DType;
use zerostride_shape::MAX_RANK;

use crate::{Result, Tensor};

use super::Format;
use super::elements::Encoding;
use super::entry::{Entry, EntryDtype};
use crate::error::file::{FileError, HeaderLimit, Problem};

/// The longest header accepted, in bytes: the limit of the reference implementation.
const MAX_HEADER: u64 = 100_000_000;

/// The size of the header's length field, which comes first.
const PREFIX: u64 = 8;

/// The key whose value is free text, not a tensor.
const METADATA_KEY: &str = "__metadata__";

/// The dtypes of safetensors that zerostride has, in the order in which the reference implementation sorts
/// them. Their codes there are the capital letters of ours.
#[rustfmt::skip]
const DTYPES: [DType; 14] = {
    use DType::*;
    [Bool, U8, I8, I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64, U64]
};

fn code(dtype: DType) -> String {
    dtype.name().to_ascii_uppercase()
}

/// Numbers are stored little-endian.
const SWAPPED: bool = cfg!(target_endian = "big");

/// Reads the header of a file of `length` bytes; entries are in the order of their data.
pub(super) fn read_header(file: &str, reader: &mut dyn Read, length: u64) -> Result<Vec<Entry>, FileError> {
    let whole = |problem| FileError::new(file, None, problem);
    let text = read_text(reader, length).map_err(whole)?;
    let start = PREFIX + text.len() as u64;
    let TensorsByName(mut tensors) =
        serde_json::from_slice(&text).map_err(|error| whole(header_problem(&text, &error)))?;
    tensors.sort_by_key(|(_, info)| info.data_offsets);

    let data_length = length - start;
    let mut entries = Vec::with_capacity(tensors.len());
    let mut expected = 0;
    for (name, info) in tensors {
        let (begin, end) = info.data_offsets;
        if let Some(reason) = misplaced(begin, end, expected, data_length) {
            return Err(FileError::new(file, Some(&name), Problem::Offsets { begin, end, reason }));
        }
        expected = end;
        let entry = Entry::new(
            Some(name.clone()),
            kind(info.dtype),
            &info.shape.0,
            false,
            start + begin,
            end - begin,
        );
        entries.push(entry.map_err(|problem| FileError::new(file, Some(&name), problem))?);
    }
    if expected < data_length {
        return Err(whole(Problem::Trailing { offset: start + expected, extra: data_length - expected }));
    }
    Ok(entries)
}

fn read_text(reader: &mut dyn Read, length: u64) -> Result<Vec<u8>, Problem> {
    let mut prefix = Vec::with_capacity(PREFIX as usize);
    (&mut *reader).take(PREFIX).read_to_end(&mut prefix).map_err(Problem::reading)?;
    let Ok(claimed) = prefix[..].try_into().map(u64::from_le_bytes) else {
        return Err(Problem::NotThisFormat { format: Format::Safetensors, start: prefix });
    };
    if claimed > MAX_HEADER {
        // A file of another format claims anything; the header of this one is an object of JSON.
        reader.take(1).read_to_end(&mut prefix).map_err(Problem::reading)?;
        if prefix.get(PREFIX as usize).is_some_and(|&byte| byte != b'{') {
            return Err(Problem::NotThisFormat { format: Format::Safetensors, start: prefix });
        }
        return Err(Problem::HeaderLength { length: claimed, limit: HeaderLimit::Format(MAX_HEADER) });
    }
    let rest = length.saturating_sub(PREFIX);
    if claimed > rest {
        return Err(Problem::HeaderLength { length: claimed, limit: HeaderLimit::File(rest) });
    }
    let mut text = vec![0; claimed as usize];
    reader.read_exact(&mut text).map_err(Problem::reading)?;
    Ok(text)
}

/// What is wrong with the data offsets of a tensor, if the one before it ends at `expected`.
fn misplaced(begin: u64, end: u64, expected: u64, data_length: u64) -> Option<String> {
    if end < begin {
        Some("end before they begin".into())
    } else if begin < expected {
        Some(format!("overlap the tensor before, which ends at {expected}"))
    } else if begin > expected {
        Some(format!("leave a hole: the tensor before ends at {expected}"))
    } else if end > data_length {
        Some(format!("lead past the end of the file, which has {data_length} bytes of data"))
    } else {
        None
    }
}

fn kind(dtype: String) -> EntryDtype {
    match DTYPES.into_iter().find(|known| code(*known) == dtype) {
        Some(dtype) => EntryDtype::Known(Encoding { dtype, swapped: SWAPPED }),
        None => {
            let advice = "is not one that zerostride has; save it as F32, BF16 or another of its dtypes";
            EntryDtype::Unknown { name: dtype, advice }
        }
    }
}

/// Gives the byte of a JSON error in the file; serde counts lines and columns.
fn header_problem(text: &[u8], error: &serde_json::Error) -> Problem {
    let before: usize = text
        .split_inclusive(|&byte| byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = error.to_string();
    Problem::Header {
        offset: PREFIX + (before + error.column().saturating_sub(1)) as u64,
        reason: reason.strip_suffix(&place).unwrap_or(&reason).to_owned(),
    }
}

/// The header's tensors by name, in the order of the text.
struct TensorsByName(Vec<(String, Info)>);

#[derive(Deserialize)]
#[serde(expecting = "an object with dtype, shape and data_offsets")]
struct Info {
    dtype: String,
    shape: Sizes,
    data_offsets: (u64, u64),
}

/// A shape whose parsing fails at the first dimension too many.
struct Sizes(Vec<usize>);

impl<'de> Deserialize<'de> for TensorsByName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeaderVisitor;

        impl<'de> Visitor<'de> for HeaderVisitor {
            type Value = TensorsByName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object that names the tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TensorsByName, A::Error> {
                let mut tensors = Vec::new();
                let mut names = HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("the name {name:?} is given twice")));
                    }
                    if name == METADATA_KEY {
                        map.next_value::<Option<HashMap<String, String>>>()?;
                    } else {
                        tensors.push((name, map.next_value()?));
                    }
                }
                Ok(TensorsByName(tensors))
            }
        }

        deserializer.deserialize_map(HeaderVisitor)
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizesVisitor;

        impl<'de> Visitor<'de> for SizesVisitor {
            type Value = Sizes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of sizes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Sizes, A::Error> {
                let mut sizes = Vec::new();
                while sizes.len() < MAX_RANK {
                    match list.next_element()? {
                        Some(size) => sizes.push(size),
                        None => return Ok(Sizes(sizes)),
                    }
                }
                match list.next_element::<IgnoredAny>()? {
                    Some(_) => {
                        Err(A::Error::custom(format_args!("the shape has more than {MAX_RANK} dimensions")))
                    }
                    None => Ok(Sizes(sizes)),
                }
            }
        }

        deserializer.deserialize_seq(SizesVisitor)
    }
}

/// Writes all tensors, byte for byte as the reference implementation does: by item size, largest first, then
/// by name.
pub(super) fn write(file: &str, tensors: &[(&str, &Tensor)], out: &mut dyn Write) -> Result<()> {
    let mut sorted = Vec::with_capacity(tensors.len());
    for &(name, tensor) in tensors {
        let refused = |problem| FileError::new(file, Some(name), problem);
        if name == METADATA_KEY {
            let reason = "is reserved in safetensors; give the array another";
            return Err(refused(Problem::Name { name: name.to_owned(), reason }).into());
        }
        let rank = rank(tensor.dtype()).map_err(refused)?;
        sorted.push((rank, name, tensor));
    }
    sorted.sort_by(|(left, left_name, _), (right, right_name, _)| {
        right.cmp(left).then(left_name.cmp(right_name))
    });

    let failed = |error| FileError::new(file, None, Problem::writing(error));
    let described = sorted.iter().map(|&(rank, name, tensor)| (rank, name, tensor.shape()));
    out.write_all(&header(described)).map_err(failed)?;
    for (_, _, tensor) in sorted {
        let encoding = Encoding { dtype: tensor.dtype(), swapped: SWAPPED };
        tensor.with_bytes(|elements| encoding.write(elements, out))?.map_err(failed)?;
    }
    Ok(())
}

/// The bytes before the elements of a single array, and the elements' form.
pub(super) fn start(
    file: &str,
    name: &str,
    dtype: DType,
    shape: &[usize],
) -> Result<(Vec<u8>, Encoding), FileError> {
    let rank = rank(dtype).map_err(|problem| FileError::new(file, Some(name), problem))?;
    Ok((header([(rank, name, shape)].into_iter()), Encoding { dtype, swapped: SWAPPED }))
}

/// The position of a dtype in [`DTYPES`].
fn rank(dtype: DType) -> Result<usize, Problem> {
    DTYPES.iter().position(|&known| known == dtype).ok_or_else(|| {
        let advice = "does not exist in safetensors; write to .npy or .npz, or convert to c64 first";
        Problem::DType { name: dtype.name().to_owned(), advice }
    })
}

/// The length and the JSON header, padded so that the data start at a multiple of eight bytes.
fn header<'a>(sorted: impl Iterator<Item = (usize, &'a str, &'a [usize])>) -> Vec<u8> {
    let mut text = String::from("{");
    let mut offset = 0;
    for (rank, name, shape) in sorted {
        let dtype = DTYPES[rank];
        let code = code(dtype);
        let end = offset + shape.iter().product::<usize>() * dtype.item_size();
        let sizes = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        text += if text.len() > 1 { "," } else { "" };
        text += &serde_json::Value::from(name).to_string();
        text += &format!(r#":{{"dtype":"{code}","shape":[{sizes}],"data_offsets":[{offset},{end}]}}"#);
        offset = end;
    }
    text.push('}');
    text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(8) - text.len()));
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

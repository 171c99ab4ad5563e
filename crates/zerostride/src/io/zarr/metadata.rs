//! Owns the metadata of arrays: `zarr.json` of version 3 and `.zarray` of version 2, as one value. It does
//! not know what codecs do (`codecs.rs`) nor whether sizes are possible (`layout.rs`).

use std::num::NonZeroUsize;

use half::{bf16, f16};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use zerostride_ops::{Category, DType};

use crate::io::elements::Encoding;
use crate::io::entry::EntryDtype;
use crate::io::npy;

/// What the metadata of an array say.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) shape: Vec<u64>,
    pub(super) kind: EntryDtype,
    /// The shape of what a file holds.
    pub(super) chunk: Vec<NonZeroUsize>,
    pub(super) keys: Keys,
    pub(super) fill: Value,
    /// In the order of encoding. Those of version 2 are described as version 3 would.
    pub(super) codecs: Vec<Extension>,
}

/// How the files of chunks are called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    /// Whether keys begin with a `c`.
    pub(super) has_prefix: bool,
    pub(super) separator: char,
}

impl Keys {
    pub(super) fn key(&self, index: &[usize]) -> String {
        let numbers = index.iter().map(usize::to_string);
        let parts: Vec<String> = self.has_prefix.then(|| "c".to_owned()).into_iter().chain(numbers).collect();
        // An array without dimensions has one chunk.
        if parts.is_empty() { "0".to_owned() } else { parts.join(self.separator.encode_utf8(&mut [0; 4])) }
    }
}

/// Something that metadata name: a codec, a dtype, a grid; with its configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Extension {
    pub(super) name: String,
    configuration: Map<String, Value>,
}

impl TryFrom<Value> for Extension {
    type Error = String;

    fn try_from(value: Value) -> Result<Extension, String> {
        let (name, configuration) = match value {
            Value::String(name) => (Some(Value::String(name)), None),
            Value::Object(mut fields) => (fields.remove("name"), fields.remove("configuration")),
            _ => (None, None),
        };
        match (name, configuration.unwrap_or_else(|| json!({}))) {
            (Some(Value::String(name)), Value::Object(configuration)) => {
                Ok(Extension { name, configuration })
            }
            _ => Err("expected a name, or an object with a `name` and a `configuration`".into()),
        }
    }
}

impl Extension {
    fn new(name: &str, configuration: Value) -> Extension {
        let configuration = if let Value::Object(fields) = configuration { fields } else { Map::new() };
        Extension { name: name.to_owned(), configuration }
    }

    /// A field of the configuration; `None` if it is missing or null.
    pub(super) fn optional<T: DeserializeOwned>(&self, field: &str) -> Result<Option<T>, String> {
        let Some(value) = self.configuration.get(field) else { return Ok(None) };
        T::deserialize(value).map(Some).or_else(|error| match value {
            Value::Null => Ok(None),
            _ => Err(format!("`{field}` of `{}` cannot be read: {error}", self.name)),
        })
    }

    /// A field of the configuration that must be there.
    pub(super) fn field<T: DeserializeOwned>(&self, field: &str) -> Result<T, String> {
        self.optional(field)?.ok_or_else(|| format!("`{}` has no `{field}`", self.name))
    }

    /// The sizes of a chunk.
    pub(super) fn chunk_shape(&self) -> Result<Vec<NonZeroUsize>, String> {
        let unreadable = |_| "`chunk_shape` has to be a list of whole numbers, none of them 0".to_owned();
        self.field("chunk_shape").map_err(unreadable)
    }
}

/// `zarr.json` of an array.
#[derive(Deserialize)]
struct Version3 {
    shape: Vec<u64>,
    data_type: Extension,
    chunk_grid: Extension,
    chunk_key_encoding: Extension,
    fill_value: Value,
    codecs: Vec<Extension>,
    #[serde(default)]
    storage_transformers: Vec<Value>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Fields that say nothing about elements.
const DESCRIPTIVE: [&str; 4] = ["zarr_format", "node_type", "attributes", "dimension_names"];

/// Reads the `zarr.json` of an array.
pub(super) fn version3(text: &[u8]) -> Result<Metadata, String> {
    let found: Version3 = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if !found.storage_transformers.is_empty() {
        return Err("storage transformers are not known".into());
    }
    let optional = |field: &Value| field.get("must_understand") == Some(&Value::Bool(false));
    let required = |(name, field): &(&String, &Value)| !DESCRIPTIVE.contains(&&***name) && !optional(field);
    if let Some((name, _)) = found.others.iter().find(required) {
        return Err(format!("`{name}` is not known, and the store requires it"));
    }
    if found.chunk_grid.name != "regular" {
        return Err(format!("the chunk grid `{}` is not read; `regular` is", found.chunk_grid.name));
    }
    let (has_prefix, separator) = match &*found.chunk_key_encoding.name {
        "default" => (true, "/"),
        "v2" => (false, "."),
        other => return Err(format!("the chunk keys `{other}` are not read; `default` and `v2` are")),
    };
    let given: Option<String> = found.chunk_key_encoding.optional("separator")?;
    let keys = Keys { has_prefix, separator: separator_of(given.as_deref().unwrap_or(separator))? };
    // Those of version 3 have PyTorch's names; bfloat16 is an extension.
    let kind = match DType::ALL.into_iter().find(|dtype| dtype.torch_name() == found.data_type.name) {
        Some(dtype) => EntryDtype::Known(Encoding { dtype, swapped: false }),
        None => EntryDtype::Unknown {
            name: found.data_type.name,
            advice: "does not exist here; convert the array to one of numbers",
        },
    };
    let chunk = found.chunk_grid.chunk_shape()?;
    Ok(Metadata { shape: found.shape, kind, chunk, keys, fill: found.fill_value, codecs: found.codecs })
}

fn separator_of(text: &str) -> Result<char, String> {
    match text {
        "." => Ok('.'),
        "/" => Ok('/'),
        other => Err(format!("chunk keys are separated by `.` or `/`, not by `{other}`")),
    }
}

/// `.zarray`.
#[derive(Deserialize)]
struct Version2 {
    zarr_format: Value,
    shape: Vec<u64>,
    chunks: Vec<NonZeroUsize>,
    dtype: Value,
    compressor: Option<Numcodec>,
    fill_value: Value,
    order: String,
    filters: Option<Vec<Numcodec>>,
    dimension_separator: Option<String>,
}

/// A codec of the library numcodecs, which version 2 has.
#[derive(Deserialize)]
struct Numcodec {
    id: String,
    #[serde(flatten)]
    configuration: Map<String, Value>,
}

impl From<Numcodec> for Extension {
    fn from(codec: Numcodec) -> Extension {
        Extension { name: codec.id, configuration: codec.configuration }
    }
}

/// Reads a `.zarray`.
pub(super) fn version2(text: &[u8]) -> Result<Metadata, String> {
    let found: Version2 = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if found.zarr_format != 2 {
        return Err(format!("version {} is not read; in a `.zarray` version 2 is", found.zarr_format));
    }
    let (kind, is_big) = match found.dtype.as_str().map(npy::kind_of) {
        Some(EntryDtype::Known(encoding)) => {
            (EntryDtype::Known(Encoding { swapped: false, ..encoding }), encoding.is_big_endian())
        }
        Some(other) => (other, false),
        None => {
            let advice = "is a record, which is not supported; save each field as an array of its own";
            (EntryDtype::Unknown { name: found.dtype.to_string(), advice }, false)
        }
    };
    let separator = separator_of(found.dimension_separator.as_deref().unwrap_or("."))?;
    let keys = Keys { has_prefix: false, separator };
    let mut codecs = vec![];
    match &*found.order {
        "C" => {}
        "F" => {
            let order: Vec<usize> = (0..found.shape.len()).rev().collect();
            codecs.push(Extension::new("transpose", json!({"order": order})));
        }
        other => return Err(format!("the order `{other}` is neither `C` nor `F`")),
    }
    let endian = if is_big { "big" } else { "little" };
    codecs.push(Extension::new("bytes", json!({"endian": endian})));
    codecs.extend(found.filters.into_iter().flatten().map(Extension::from));
    codecs.extend(found.compressor.map(Extension::from));
    // Without a fill value, chunks that are not stored have any elements; zarr-python reads zeros.
    let fill = match (found.fill_value, &kind) {
        (Value::Null, EntryDtype::Known(encoding)) => zero(encoding.dtype),
        (fill, _) => fill,
    };
    Ok(Metadata { shape: found.shape, kind, chunk: found.chunks, keys, fill, codecs })
}

/// The fill value 0 of a dtype.
pub(super) fn zero(dtype: DType) -> Value {
    match dtype.category() {
        Category::Bool => json!(false),
        Category::Complex => json!([0.0, 0.0]),
        Category::Float => json!(0.0),
        _ => json!(0),
    }
}

/// The bytes of a fill value, in this machine's order.
pub(super) fn fill_bytes(value: &Value, dtype: DType) -> Result<Vec<u8>, String> {
    let refused = || format!("the fill value {value} is none of dtype {dtype}");
    let integer = || {
        let whole =
            |number: f64| (number.fract() == 0.0 && number.abs() < 2f64.powi(53)).then_some(number as i128);
        let exact = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        exact.or_else(|| value.as_f64().and_then(whole)).ok_or_else(refused)
    };
    macro_rules! integers {
        ($($name:ident: $type:ty),*) => {
            match dtype {
                $(DType::$name => Some(<$type>::try_from(integer()?).map_err(|_| refused())?.to_ne_bytes().to_vec()),)*
                _ => None,
            }
        };
    }
    let integers = match dtype.category() {
        Category::Int => {
            integers!(U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64)
        }
        _ => None,
    };
    match (integers, dtype, value) {
        (Some(bytes), ..) => Ok(bytes),
        (_, DType::Bool, Value::Bool(value)) => Ok(vec![u8::from(*value)]),
        (_, DType::Bool, _) => match integer()? {
            value @ (0 | 1) => Ok(vec![value as u8]),
            _ => Err(refused()),
        },
        (_, DType::C64 | DType::C128, Value::Array(parts)) if parts.len() == 2 => {
            let parts = parts.iter().map(|part| float(part, dtype.to_real()));
            Ok(parts.collect::<Option<Vec<_>>>().ok_or_else(refused)?.concat())
        }
        _ => float(value, dtype).ok_or_else(refused),
    }
}

/// The bytes of a real number: a JSON number, `NaN`, an infinity, or its bits in hexadecimal digits.
fn float(value: &Value, dtype: DType) -> Option<Vec<u8>> {
    let number = match value.as_str() {
        None => value.as_f64()?,
        Some("NaN") => f64::NAN,
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some(text) => {
            let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 2 * dtype.item_size())?;
            let bits = u64::from_str_radix(digits, 16).ok()?.to_be_bytes();
            let mut bytes = bits[8 - dtype.item_size()..].to_vec();
            if cfg!(target_endian = "little") {
                bytes.reverse();
            }
            return Some(bytes);
        }
    };
    match dtype {
        DType::F16 => Some(f16::from_f64(number).to_ne_bytes().to_vec()),
        DType::BF16 => Some(bf16::from_f64(number).to_ne_bytes().to_vec()),
        DType::F32 => Some((number as f32).to_ne_bytes().to_vec()),
        DType::F64 => Some(number.to_ne_bytes().to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_values_are_those_of_the_format_or_refused() {
        let nan = [0, 0, 192, 127];
        for (value, dtype, bytes) in [
            (json!(true), DType::Bool, Some(&[1][..])),
            (json!(1), DType::Bool, Some(&[1])),
            (json!(2), DType::Bool, None),
            (json!(-1), DType::I16, Some(&[255, 255])),
            (json!(-1), DType::U16, None),
            (json!(256), DType::U8, None),
            (json!(7.0), DType::I8, Some(&[7])),
            (json!(7.5), DType::I8, None),
            (json!(u64::MAX), DType::U64, Some(&[255; 8])),
            (json!("NaN"), DType::F32, Some(&nan)),
            (json!("0x7fc00000"), DType::F32, Some(&nan)),
            (json!("0x7fc000"), DType::F32, None),
            (json!("-Infinity"), DType::F16, Some(&[0, 252])),
            (json!("Infinity"), DType::BF16, Some(&[128, 127])),
            (json!("high"), DType::F64, None),
            (json!(null), DType::F64, None),
            (json!(["NaN", 0]), DType::C64, Some(&[0, 0, 192, 127, 0, 0, 0, 0])),
            (json!([1]), DType::C64, None),
        ] {
            let mut expected = bytes.map(<[u8]>::to_vec);
            if cfg!(target_endian = "big") {
                let unit = dtype.to_real().item_size();
                expected.iter_mut().for_each(|bytes| bytes.chunks_mut(unit).for_each(<[u8]>::reverse));
            }
            assert_eq!(fill_bytes(&value, dtype).ok(), expected, "{value} {dtype}");
        }
    }

    #[test]
    fn keys_are_those_of_the_format() {
        for (has_prefix, separator, scalar, matrix) in
            [(true, '/', "c", "c/1/0"), (true, '.', "c", "c.1.0"), (false, '.', "0", "1.0")]
        {
            let keys = Keys { has_prefix, separator };
            assert_eq!((keys.key(&[]), keys.key(&[1, 0])), (scalar.to_owned(), matrix.to_owned()));
        }
    }
}

//! Owns the names of dtypes: ours, PyTorch's and NumPy's. It does not know where a dtype is named.

use zerostride::DType;
use zerostride_ops::UnknownDType;

/// The dtype of a name: ours, PyTorch's, or NumPy's code, as `f4` and `<i8`. Without a byte order `i8` and
/// `u8` are ours, of 8 bits.
pub(crate) fn dtype(name: &str) -> Result<DType, UnknownDType> {
    name.parse().or_else(|unknown| {
        let code = name.strip_prefix(['<', '>', '=', '|']).unwrap_or(name);
        let known = CODES.iter().find(|(known, _)| *known == code);
        known.map(|(_, dtype)| *dtype).ok_or(unknown)
    })
}

/// NumPy's codes of dtypes: a kind, and a size in bytes.
const CODES: [(&str, DType); 14] = [
    ("b1", DType::Bool),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("u1", DType::U8),
    ("u2", DType::U16),
    ("u4", DType::U32),
    ("u8", DType::U64),
    ("f2", DType::F16),
    ("f4", DType::F32),
    ("f8", DType::F64),
    ("c8", DType::C64),
    ("c16", DType::C128),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_have_numpys_codes() {
        for (name, expected) in [
            ("f4", DType::F32),
            ("<f8", DType::F64),
            ("<i8", DType::I64),
            ("i8", DType::I8),
            ("|b1", DType::Bool),
            (">c16", DType::C128),
            ("float32", DType::F32),
        ] {
            assert_eq!(dtype(name).ok(), Some(expected), "{name}");
        }
        assert_eq!((dtype("f3").ok(), dtype("<f32").ok()), (None, None));
    }
}

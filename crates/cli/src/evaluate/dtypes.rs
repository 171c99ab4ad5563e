//! Owns the names of dtypes: ours, PyTorch's, NumPy's and Python's. It does not know where a dtype is named.

use zerostride::DType;
use zerostride_ops::UnknownDType;

/// The dtype of a name: ours, PyTorch's, or NumPy's code, as `f4` and `<i8`. Without a byte order `i8` and
/// `u8` are ours, of 8 bits. `float` and `int` are Python's, of 64 bits, as in `torch.Tensor.to(float)`;
/// `torch.float` and `torch.int` have 32.
pub(crate) fn dtype(name: &str) -> Result<DType, UnknownDType> {
    match name {
        "torch.float" => return Ok(DType::F32),
        "torch.int" => return Ok(DType::I32),
        _ => {}
    }
    let name =
        ["torch.", "np.", "numpy."].iter().find_map(|module| name.strip_prefix(module)).unwrap_or(name);
    name.parse().or_else(|unknown| {
        let code = name.strip_prefix(['<', '>', '=', '|']).unwrap_or(name);
        let word = || WORDS.iter().find(|(word, _)| *word == name).map(|(_, dtype)| *dtype);
        DType::of_numpy_code(code).or_else(word).ok_or(unknown)
    })
}

/// The words for dtypes that Python, PyTorch and NumPy share.
const WORDS: [(&str, DType); 7] = [
    ("float", DType::F64),
    ("int", DType::I64),
    ("complex", DType::C128),
    ("half", DType::F16),
    ("double", DType::F64),
    ("short", DType::I16),
    ("long", DType::I64),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_have_the_names_of_other_libraries() {
        for (name, expected) in [
            ("f4", DType::F32),
            ("<f8", DType::F64),
            ("<i8", DType::I64),
            ("i8", DType::I8),
            ("|b1", DType::Bool),
            (">c16", DType::C128),
            ("float32", DType::F32),
            ("torch.float32", DType::F32),
            ("np.uint8", DType::U8),
            ("float", DType::F64),
            ("int", DType::I64),
            ("bool", DType::Bool),
            ("torch.float", DType::F32),
            ("torch.int", DType::I32),
            ("torch.long", DType::I64),
            ("half", DType::F16),
        ] {
            assert_eq!(dtype(name).ok(), Some(expected), "{name}");
        }
        assert_eq!(["f3", "<f32", "torch.f3", "<int"].map(|name| dtype(name).ok()), [None; 4]);
    }
}

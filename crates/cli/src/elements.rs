//! Owns the text of elements: as they are drawn, exact for programs. It does not know where they are written.

use zerostride::{Complex64, DType, Expr, Result, Tensor};
use zerostride_explain::element_text;
use zerostride_ops::{Category, Scalar};

/// The text of every element in row-major order.
pub(crate) fn elements(tensor: &Tensor) -> Result<Vec<String>> {
    fn texts<T: Copy>(elements: &[T], scalar: fn(T) -> Scalar) -> Vec<String> {
        elements.iter().map(|&element| element_text(scalar(element))).collect()
    }
    Ok(match tensor.dtype().category() {
        Category::Bool => texts(&tensor.to_vec::<bool>()?, Scalar::Bool),
        Category::Int if tensor.dtype() == DType::U64 => {
            tensor.to_vec::<u64>()?.iter().map(u64::to_string).collect()
        }
        Category::Int => texts(&tensor.to_dtype(DType::I64)?.to_vec()?, Scalar::Int),
        Category::Float => texts(&tensor.to_dtype(DType::F64)?.to_vec()?, Scalar::Float),
        Category::Complex => texts(&tensor.to_dtype(DType::C128)?.to_vec::<Complex64>()?, Scalar::Complex),
    })
}

/// How exact elements are spelt.
pub(crate) struct Spelling {
    /// False and true.
    bools: [&'static str; 2],
    /// NaN, infinity, and minus infinity.
    others: [&'static str; 3],
    /// A complex number of its parts.
    complex: fn(String, String) -> String,
}

/// JSON, which has neither NaN nor infinities nor complex numbers.
pub(crate) const JSON: Spelling = Spelling {
    bools: ["false", "true"],
    others: ["\"NaN\"", "\"Infinity\"", "\"-Infinity\""],
    complex: |re, im| format!("[{re},{im}]"),
};

/// Tables, as NumPy reads them.
pub(crate) const TABLE: Spelling = Spelling {
    bools: ["0", "1"],
    others: ["nan", "inf", "-inf"],
    complex: |re, im| if im.starts_with('-') { format!("({re}{im}j)") } else { format!("({re}+{im}j)") },
};

/// Every element in row-major order, with as many digits as tell it from its neighbours.
pub(crate) fn exact(tensor: &Tensor, spelling: &Spelling) -> Result<Vec<String>> {
    // A float of 16 bits has the digits of one of 32, and the digits of one of 32 are its own.
    let float = |element: f64, digits: &dyn Fn() -> String| match element {
        nan if nan.is_nan() => spelling.others[0].to_owned(),
        f64::INFINITY => spelling.others[1].to_owned(),
        f64::NEG_INFINITY => spelling.others[2].to_owned(),
        _ => digits(),
    };
    let single = |element: f32| float(element.into(), &|| format!("{element:?}"));
    let double = |element: f64| float(element, &|| format!("{element:?}"));
    let dtype = tensor.dtype();
    Ok(match dtype {
        DType::Bool => tensor
            .to_vec::<bool>()?
            .iter()
            .map(|&element| spelling.bools[usize::from(element)].to_owned())
            .collect(),
        DType::U64 => texts(&tensor.to_vec::<u64>()?),
        DType::F64 => tensor.to_vec::<f64>()?.into_iter().map(double).collect(),
        DType::C128 => {
            let spell = |element: Complex64| (spelling.complex)(double(element.re), double(element.im));
            tensor.to_vec::<Complex64>()?.into_iter().map(spell).collect()
        }
        DType::C64 => {
            let part = |part: Expr| part.eval()?.to_vec::<f32>();
            let input = Expr::from(tensor);
            let parts = part(input.real())?.into_iter().zip(part(input.imag())?);
            parts.map(|(re, im)| (spelling.complex)(single(re), single(im))).collect()
        }
        _ if dtype.category() == Category::Int => texts(&tensor.to_dtype(DType::I64)?.to_vec::<i64>()?),
        _ => tensor.to_dtype(DType::F32)?.to_vec::<f32>()?.into_iter().map(single).collect(),
    })
}

fn texts<T: ToString>(elements: &[T]) -> Vec<String> {
    elements.iter().map(T::to_string).collect()
}

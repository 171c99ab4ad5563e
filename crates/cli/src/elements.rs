//! Owns the text of elements: short in drawings, exact for programs. It does not know where they are written.

use zerostride::{Complex64, DType, Expr, Result, Tensor};
use zerostride_ops::Category;

/// Every element in row-major order, each as short as possible; `None` for elements without a short form.
pub(crate) fn elements(tensor: &Tensor) -> Result<Option<Vec<String>>> {
    let words = match tensor.dtype().category() {
        Category::Bool => tensor.to_vec::<bool>()?.iter().map(|element| python(*element)).collect(),
        Category::Int if tensor.dtype() == DType::U64 => texts(&tensor.to_vec::<u64>()?),
        Category::Int => texts(&tensor.to_dtype(DType::I64)?.to_vec::<i64>()?),
        Category::Float => {
            tensor.to_dtype(DType::F64)?.to_vec::<f64>()?.iter().map(|element| short(*element)).collect()
        }
        Category::Complex => {
            tensor.to_dtype(DType::C128)?.to_vec::<Complex64>()?.iter().map(complex).collect()
        }
    };
    Ok(Some(words))
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

fn python(element: bool) -> String {
    if element { "True" } else { "False" }.to_owned()
}

/// Both parts, as `1.+2.j`.
fn complex(element: &Complex64) -> String {
    let sign = if element.im.is_sign_negative() || element.im.is_nan() { "" } else { "+" };
    format!("{}{sign}{}j", short(element.re), short(element.im))
}

/// A float with at most four digits after the point, and always with a point, which marks it as a float.
fn short(element: f64) -> String {
    let magnitude = element.abs();
    if !element.is_finite() {
        return element.to_string().to_lowercase();
    }
    if magnitude != 0.0 && !(1e-3..1e6).contains(&magnitude) {
        return format!("{element:.3e}");
    }
    format!("{element:.4}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_have_both_parts() {
        for (re, im, text) in [(1.0, 2.5, "1.+2.5j"), (0.0, -1.0, "0.-1.j"), (-0.5, 0.0, "-0.5+0.j")] {
            assert_eq!(complex(&Complex64::new(re, im)), text);
        }
    }

    #[test]
    fn floats_are_short() {
        for (element, text) in [
            (1.0, "1."),
            (0.25, "0.25"),
            (1.0 / 3.0, "0.3333"),
            (-0.0, "-0."),
            (1e-7, "1.000e-7"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(short(element), text);
        }
    }
}

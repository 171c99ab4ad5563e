//! Owns the text of the elements of small tensors in drawings: bools as in Python, floats short. It does not
//! know where they are drawn.

use zerostride::{Complex64, DType, Result, Tensor};
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

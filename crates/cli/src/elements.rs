//! Owns the elements of small tensors as they are drawn. It does not know where they are drawn, nor the text
//! of one (`zerostride-explain`).

use zerostride::{Complex64, DType, Result, Tensor};
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

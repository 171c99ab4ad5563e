//! Owns the recording of products of matrices: what is multiplied and summed in which order, as in `matmul`.
//! It does not know where elements are.

use zerostride_code::print::ptx::ProductCodes;
use zerostride_code::{Binary, Builder, Code, Type, Value};
use zerostride_ops::{Category, DType};

use super::element::stored_type;
use crate::matmul::BLOCK_DEPTH;

/// Products that are summed one after the other, before the next so many are.
pub const PRODUCT_CHAIN: u32 = BLOCK_DEPTH as u32;

/// The products of matrices of a dtype, of elements that are one value, or two if they are complex; `None` of
/// bool, which has none.
///
/// ```
/// use zerostride_kernels::record_product;
/// use zerostride_ops::DType;
///
/// let product = record_product(DType::F32).expect("floats are multiplied");
/// let [two, three, one] = [2f32, 3.0, 1.0].map(|x| u64::from(x.to_bits()));
/// assert_eq!(product.extend.run(&[two, three, one]), [7f32.to_bits().into()]);
/// ```
pub fn record_product(dtype: DType) -> Option<ProductCodes> {
    let (category, narrow) = (dtype.category(), stored_type(dtype));
    let wide = if dtype.is_half() { Type::F32 } else { narrow };
    let parts = if category == Category::Complex { 2 } else { 1 };
    // A zero that changes no other number.
    let empty = match wide {
        Type::F32 => (-0f32).to_bits().into(),
        Type::F64 => (-0f64).to_bits(),
        _ => 0,
    };
    let converted =
        |from, to| coded(from, parts, |code, own| own.iter().map(|&own| code.convert(to, own)).collect());
    let (extend, add): (Record, Record) = match category {
        Category::Bool => return None,
        Category::Int => (
            |code, own| {
                let product = code.binary(Binary::Mul, own[0], own[1]);
                vec![code.binary(Binary::Add, own[2], product)]
            },
            |code, own| vec![code.binary(Binary::Add, own[0], own[1])],
        ),
        Category::Float => (
            |code, own| vec![code.mul_add(own[0], own[1], own[2])],
            |code, own| vec![code.binary(Binary::Add, own[0], own[1])],
        ),
        Category::Complex => (
            |code, own| {
                let products = [(0, 2), (0, 3), (1, 2), (1, 3)].into_iter().zip(&own[4..]);
                products.map(|((a, b), &sum)| code.mul_add(own[a], own[b], sum)).collect()
            },
            |code, own| {
                let re = code.binary(Binary::Sub, own[2], own[5]);
                let im = code.binary(Binary::Add, own[3], own[4]);
                vec![code.binary(Binary::Add, own[0], re), code.binary(Binary::Add, own[1], im)]
            },
        ),
    };
    Some(ProductCodes {
        widen: converted(narrow, wide),
        extend: coded(wide, 2 * parts + parts * parts, extend),
        start: vec![0; parts * parts],
        add: coded(wide, parts + parts * parts, add),
        ending: converted(wide, narrow),
        empty: vec![empty; parts],
    })
}

/// What appends results of inputs.
type Record = fn(&mut Builder, &[Value]) -> Vec<Value>;

/// The code of so many inputs of a type.
fn coded(ty: Type, inputs: usize, record: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Code {
    let mut code = Builder::new();
    let inputs: Vec<Value> = (0..inputs).map(|_| code.input(ty)).collect();
    let results = record(&mut code, &inputs);
    code.finish(&results)
}

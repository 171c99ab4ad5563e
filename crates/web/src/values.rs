//! Owns the elements of a small result. The kernels and the engine would make the page three times as large:
//! its few operations are computed here, in f64 or i128, and rounded to the dtype after each of them, which
//! gives the kernels' answers. Tests hold them to the engine's. It does not know what is asked.

use half::{bf16, f16};
use zerostride_explain::{Explanation, Operand, element_text};
use zerostride_ops::{Bucket, Category, Complex64, DType, Op, Scalar, Typed};
use zerostride_shape::{Size, Stride};

/// Broadcasts of more elements are drawn without values.
const MOST_ELEMENTS: Size = 4096;
/// The elements that a reduction combines one after the other; of more, the order is another.
const MOST_IN_ORDER: usize = 127;

/// An element of a dtype.
#[derive(Clone, Copy)]
enum Element {
    Bool(bool),
    Whole(i128),
    Float(f64),
    Complex(Complex64),
}

use Element::{Bool, Complex, Float, Whole};

impl Element {
    fn is_true(self) -> bool {
        match self {
            Bool(value) => value,
            Whole(value) => value != 0,
            Float(value) => value != 0.0,
            Complex(value) => value != Complex64::ZERO,
        }
    }

    /// The element as a real number: the real part of a complex one.
    fn float(self) -> f64 {
        match self {
            Bool(value) => f64::from(u8::from(value)),
            Whole(value) => value as f64,
            Float(value) => value,
            Complex(value) => value.re,
        }
    }

    fn complex(self) -> Complex64 {
        match self {
            Complex(value) => value,
            other => other.float().into(),
        }
    }

    /// The element in a dtype: integers wrap around, floats are rounded.
    fn to(self, dtype: DType) -> Element {
        match dtype.category() {
            Category::Bool => Bool(self.is_true()),
            Category::Int => {
                let whole = match self {
                    Bool(value) => value.into(),
                    Whole(value) => value,
                    Float(_) | Complex(_) => self.float() as i128,
                };
                let (least, most) = dtype.int_range();
                Whole(whole.wrapping_sub(least).rem_euclid(most - least + 1) + least)
            }
            Category::Complex => {
                let part = |part: f64| if dtype == DType::C64 { f64::from(part as f32) } else { part };
                Complex(Complex64::new(part(self.complex().re), part(self.complex().im)))
            }
            Category::Float => Float(match dtype {
                DType::F16 => f16::from_f32(self.float() as f32).into(),
                DType::BF16 => bf16::from_f32(self.float() as f32).into(),
                DType::F32 => f64::from(self.float() as f32),
                _ => self.float(),
            }),
        }
    }

    fn text(self) -> String {
        match self {
            Bool(value) => element_text(Scalar::Bool(value)),
            Whole(value) => value.to_string(),
            Float(value) => element_text(Scalar::Float(value)),
            Complex(value) => element_text(Scalar::Complex(value)),
        }
    }
}

/// The elements of the result as they are printed, if those of all operands are known and there are few.
pub(crate) fn result(explanation: &Explanation) -> Option<Vec<String>> {
    let (shape, options) = (explanation.shape()?, explanation.options());
    let typed = typed(explanation);
    if !(1..=MOST_ELEMENTS).contains(&shape.numel()) {
        return None;
    }
    let operands: Vec<Vec<Element>> = explanation
        .operands()
        .iter()
        .zip(explanation.readings())
        .map(|(operand, reading)| {
            let own = elements(operand)?;
            Some(offsets(shape, &reading.strides).into_iter().map(|at| own[at]).collect())
        })
        .collect::<Option<_>>()?;
    let results = match (options.op, &options.reduction) {
        (Some(op), None) => {
            let inferred = op.infer(&typed).ok()?;
            let in_place = options.in_place.then_some(typed[0].dtype);
            if in_place.is_some_and(|target| inferred.result.category() > target.category()) {
                return None;
            }
            let element = |at: usize| {
                let element = applied(op, inferred.compute, operands.iter().map(|operand| operand[at]))?;
                Some(element.to(in_place.unwrap_or(inferred.result)))
            };
            (0..shape.numel() as usize).map(element).collect::<Option<Vec<_>>>()?
        }
        (None, Some(reduction)) => {
            let dtype = reduction.op.infer(&typed).ok()?.result;
            let groups = groups(explanation)?;
            let group =
                |group: &Vec<usize>| reduced(reduction.op, dtype, group.iter().map(|&at| operands[0][at]));
            groups.iter().map(group).collect::<Option<_>>()?
        }
        (Some(_), Some(_)) => {
            let ([a, b], dtype) = (&operands[..], typed[0].dtype) else { return None };
            let products = |group: &Vec<usize>| dot(dtype, group.iter().map(|&at| (a[at], b[at])));
            groups(explanation)?.iter().map(products).collect::<Option<_>>()?
        }
        (None, None) => return None,
    };
    Some(results.into_iter().map(Element::text).collect())
}

/// The operands' dtypes, as promotion sees them.
pub(crate) fn typed(explanation: &Explanation) -> Vec<Typed> {
    let typed = |operand: &Operand| Typed {
        dtype: operand.dtype.unwrap_or(DType::DEFAULT_FLOAT),
        bucket: if operand.shape.is_empty() { Bucket::ZeroDim } else { Bucket::Dimensioned },
    };
    explanation.operands().iter().map(typed).collect()
}

/// The elements that an operand is written with; none if one of them is none of its dtype.
fn elements(operand: &Operand) -> Option<Vec<Element>> {
    let dtype = operand.dtype?;
    let element = |text: &String| {
        let element = match (&**text, text.parse()) {
            ("True" | "False", _) => Bool(text == "True"),
            (_, Ok(whole)) => Whole(whole),
            _ if text.ends_with('j') => Complex(text.parse().ok()?),
            _ => Float(text.parse().ok()?),
        };
        let scalar = match element {
            Whole(value) => Scalar::Int(value.try_into().ok()?),
            Complex(value) => Scalar::Complex(value),
            other => Scalar::Float(other.float()),
        };
        (!scalar.overflows(dtype)).then(|| element.to(dtype))
    };
    operand.values.as_ref()?.iter().map(element).collect()
}

/// An operation on elements, in the dtype that it computes in.
fn applied(op: Op, compute: DType, elements: impl Iterator<Item = Element>) -> Option<Element> {
    let elements: Vec<Element> = elements.collect();
    if let (Op::Where, [condition, yes, no]) = (op, &elements[..]) {
        return Some(if condition.is_true() { yes.to(compute) } else { no.to(compute) });
    }
    let [a, b] = elements[..] else { return None };
    Some(match (a.to(compute), b.to(compute)) {
        (Float(a), Float(b)) => match op {
            Op::Add => Float(a + b),
            Op::Sub => Float(a - b),
            Op::Mul => Float(a * b),
            Op::Div => Float(a / b),
            Op::Pow => Float(a.powf(b)),
            Op::Maximum if a.is_nan() || a > b => Float(a),
            Op::Minimum if a.is_nan() || a < b => Float(a),
            Op::Maximum | Op::Minimum => Float(b),
            _ => Bool(compared(op, &a, &b)?),
        }
        .to(if matches!(op, Op::Eq | Op::Lt | Op::Gt) { DType::Bool } else { compute }),
        (Whole(a), Whole(b)) => match op {
            Op::Add => Whole(a + b).to(compute),
            Op::Sub => Whole(a - b).to(compute),
            Op::Mul => Whole(a.wrapping_mul(b)).to(compute),
            Op::Pow => power(a, b, compute),
            Op::Maximum => Whole(a.max(b)),
            Op::Minimum => Whole(a.min(b)),
            _ => Bool(compared(op, &a, &b)?),
        },
        (Complex(a), Complex(b)) => {
            let product = |a: f64, b: f64| Complex((a * b).into()).to(compute).float();
            match op {
                Op::Add => Complex(a + b).to(compute),
                Op::Sub => Complex(a - b).to(compute),
                Op::Mul => {
                    let re = product(a.re, b.re) - product(a.im, b.im);
                    let im = product(a.re, b.im) + product(a.im, b.re);
                    Complex(Complex64::new(re, im)).to(compute)
                }
                Op::Div => Complex(a / b).to(compute),
                Op::Eq => Bool(a == b),
                _ => return None,
            }
        }
        (Bool(a), Bool(b)) => Bool(match op {
            Op::Add | Op::Maximum => a | b,
            Op::Mul | Op::Minimum => a & b,
            _ => compared(op, &a, &b)?,
        }),
        _ => return None,
    })
}

fn compared<T: PartialOrd>(op: Op, a: &T, b: &T) -> Option<bool> {
    match op {
        Op::Eq => Some(a == b),
        Op::Lt => Some(a < b),
        Op::Gt => Some(a > b),
        _ => None,
    }
}

/// A power of integers, which wraps around; of a negative exponent the fraction is dropped.
fn power(base: i128, exponent: i128, dtype: DType) -> Element {
    match (base, exponent) {
        (1, _) => Whole(1),
        (-1, odd) => Whole(if odd % 2 == 0 { 1 } else { -1 }),
        (_, ..0) => Whole(0),
        _ => {
            let (mut power, mut square, mut left) = (Whole(1), base, exponent);
            while left > 0 {
                if let (1, Whole(so_far)) = (left % 2, power) {
                    power = Whole(so_far.wrapping_mul(square)).to(dtype);
                }
                if let Whole(next) = Whole(square.wrapping_mul(square)).to(dtype) {
                    square = next;
                }
                left /= 2;
            }
            power
        }
    }
}

/// Elements combined one after the other. Halves add up in f32 and are rounded once.
fn reduced(op: Op, dtype: DType, elements: impl Iterator<Item = Element>) -> Option<Element> {
    let wide = if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype };
    let step = match op {
        Op::Sum | Op::Mean => Op::Add,
        Op::Amax => Op::Maximum,
        Op::Amin => Op::Minimum,
        _ => return None,
    };
    let elements: Vec<Element> = elements.collect();
    let (first, rest) = elements.split_first()?;
    let all =
        rest.iter().try_fold(first.to(wide), |all, &next| applied(step, wide, [all, next].into_iter()))?;
    let count = Whole(elements.len() as i128);
    let all = if op == Op::Mean { applied(Op::Div, wide, [all, count].into_iter())? } else { all };
    Some(all.to(dtype))
}

/// Products added up, each without being rounded before, as in a matrix product.
fn dot(dtype: DType, pairs: impl Iterator<Item = (Element, Element)>) -> Option<Element> {
    let wide = if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype };
    let start = Whole(0).to(wide);
    let sum = |sum: Element, (a, b): (Element, Element)| match (sum, a, b) {
        (Float(sum), Float(a), Float(b)) => Some(Float(a.mul_add(b, sum)).to(wide)),
        (Complex(sum), Complex(a), Complex(b)) => Some(Complex(sum + a * b).to(wide)),
        (Whole(sum), Whole(a), Whole(b)) => Some(Whole(sum.wrapping_add(a.wrapping_mul(b))).to(wide)),
        _ => None,
    };
    Some({ pairs }.try_fold(start, sum)?.to(dtype))
}

/// The places of a broadcast that each element of the result combines, in order.
fn groups(explanation: &Explanation) -> Option<Vec<Vec<usize>>> {
    let (shape, reduction) = (explanation.shape()?, explanation.options().reduction.as_ref()?);
    let steps: Vec<Stride> =
        (0..shape.len()).map(|dim| shape[dim + 1..].iter().product::<Size>() as Stride).collect();
    let places = |are_combined: bool| {
        let dims = (0..shape.len()).filter(|dim| reduction.dims.contains(dim) == are_combined);
        let (sizes, steps): (Vec<Size>, Vec<Stride>) = dims.map(|dim| (shape[dim], steps[dim])).unzip();
        offsets(&sizes, &steps)
    };
    let (kept, combined) = (places(false), places(true));
    let group = |start: &usize| combined.iter().map(|step| start + step).collect();
    (combined.len() <= MOST_IN_ORDER).then(|| kept.iter().map(group).collect())
}

/// The offsets of all elements, in row-major order.
fn offsets(shape: &[Size], strides: &[Stride]) -> Vec<usize> {
    shape.iter().zip(strides).fold(vec![0], |offsets, (&size, &stride)| {
        let steps = move |offset| (0..size as usize).map(move |step| offset + step * stride as usize);
        offsets.into_iter().flat_map(steps).collect()
    })
}

#[cfg(test)]
mod tests {
    use zerostride::{Expr, Tensor, call, einsum, keepdim};
    use zerostride_explain::{Options, Reduction};

    use super::*;

    const WRITTEN: [&[&str]; 3] = [
        &["0", "1", "-1", "2", "-7", "100"],
        &["3", "-2", "0", "-1", "2", "5"],
        &["1", "0", "0.5", "-2.75", "1e30", "3"],
    ];

    fn operand(name: &str, shape: &[usize], written: &[&str], dtype: DType) -> Operand {
        Operand::new(shape).named(name).dtype(dtype).values(written)
    }

    /// The operand as a tensor of the engine; none if its elements are none of its dtype.
    fn tensor(operand: &Operand) -> Option<Tensor> {
        let dtype = operand.dtype?;
        let element = |text: &String| {
            let scalar = text.parse().map_or_else(|_| Scalar::Float(text.parse().unwrap()), Scalar::Int);
            let tensor = Tensor::full(&[1], scalar, dtype).ok()?;
            (!scalar.overflows(dtype)).then_some(tensor)
        };
        let elements: Vec<Tensor> = operand.values.as_ref()?.iter().map(element).collect::<Option<_>>()?;
        let all = zerostride::cat(&elements.iter().collect::<Vec<_>>(), 0).unwrap();
        Some(all.reshape(&operand.shape.iter().map(|&size| size as isize).collect::<Vec<_>>()).unwrap())
    }

    fn texts(result: &Tensor) -> Vec<String> {
        let wide = match result.dtype().category() {
            Category::Bool => {
                return result
                    .to_vec::<bool>()
                    .unwrap()
                    .iter()
                    .map(|&one| element_text(Scalar::Bool(one)))
                    .collect();
            }
            Category::Int if result.dtype() == DType::U64 => {
                return result.to_vec::<u64>().unwrap().iter().map(u64::to_string).collect();
            }
            Category::Int => DType::I64,
            _ => DType::F64,
        };
        let result = result.to_dtype(wide).unwrap();
        match wide {
            DType::I64 => result.to_vec::<i64>().unwrap().iter().map(i64::to_string).collect(),
            _ => {
                result.to_vec::<f64>().unwrap().iter().map(|&one| element_text(Scalar::Float(one))).collect()
            }
        }
    }

    fn dtypes() -> impl Iterator<Item = DType> + Clone {
        DType::ALL.into_iter().filter(|dtype| dtype.category() != Category::Complex)
    }

    #[test]
    fn element_wise_results_are_those_of_the_engine() {
        let mut compared = 0;
        for op in crate::state::Operation::ALL {
            let crate::state::Operation::Map(op) = op else { continue };
            for (a, b) in dtypes().flat_map(|a| dtypes().map(move |b| (a, b))) {
                for (one, other) in [(0, 1), (1, 0), (2, 1), (2, 2)] {
                    let mut operands =
                        vec![operand("x", &[6, 1], WRITTEN[one], a), operand("y", &[6], WRITTEN[other], b)];
                    if op == Op::Where {
                        operands.insert(0, operand("m", &[6], WRITTEN[1], DType::Bool));
                    }
                    let Some(tensors) = operands.iter().map(tensor).collect::<Option<Vec<_>>>() else {
                        continue;
                    };
                    let arguments = tensors.iter().map(|tensor| zerostride::Operand::from(tensor).into());
                    let arguments = zerostride::Arguments {
                        positional: arguments.map(zerostride::Argument::Expr).collect(),
                        named: Vec::new(),
                    };
                    let expected = call(op, arguments).and_then(|expr: Expr| expr.eval()).ok();
                    let explanation =
                        Explanation::new(operands, Options { op: Some(op), ..Options::default() });
                    assert_eq!(
                        result(&explanation),
                        expected.as_ref().map(texts),
                        "{op:?} {a} {b} {one} {other}"
                    );
                    compared += usize::from(expected.is_some());
                }
            }
        }
        assert!(compared > 3000, "{compared}");
    }

    #[test]
    fn complex_results_are_those_of_the_engine() {
        let written = [["1+2j", "-0.5j", "3", "-1.5-0.25j"], ["2-1j", "1+1j", "0.1j", "-4"]];
        for dtype in [DType::C64, DType::C128] {
            let tensor = |written: [&str; 4], shape: &[isize]| {
                let elements = written
                    .map(|text| Tensor::full(&[1], Scalar::Complex(text.parse().unwrap()), dtype).unwrap());
                zerostride::cat(&elements.iter().collect::<Vec<_>>(), 0).unwrap().reshape(shape).unwrap()
            };
            let (x, y) = (tensor(written[0], &[2, 2]), tensor(written[1], &[2, 2]));
            let texts = |result: Expr| -> Vec<String> {
                let result = result.to_dtype(DType::C128).eval().unwrap();
                let elements = result.to_vec::<Complex64>().unwrap();
                elements.into_iter().map(|element| element_text(Scalar::Complex(element))).collect()
            };
            let operands =
                || vec![operand("x", &[2, 2], &written[0], dtype), operand("y", &[2, 2], &written[1], dtype)];
            for (op, expected) in
                [(Op::Add, &x + &y), (Op::Sub, &x - &y), (Op::Mul, &x * &y), (Op::Div, &x / &y)]
            {
                let explanation =
                    Explanation::new(operands(), Options { op: Some(op), ..Options::default() });
                assert_eq!(result(&explanation), Some(texts(expected)), "{op:?} {dtype}");
            }
            for (op, expected) in [(Op::Sum, Expr::from(&x).sum(1)), (Op::Mean, Expr::from(&x).mean(1))] {
                let reduction = Some(Reduction { op, dims: vec![1], keepdim: false });
                let explanation =
                    Explanation::new(operands()[..1].to_vec(), Options { reduction, ..Options::default() });
                assert_eq!(result(&explanation), Some(texts(expected)), "{op:?} {dtype}");
            }
            for equation in ["ij,jk->ik", "ii,ij->ij", "ij,kk->"] {
                let (views, options) = crate::combined::einsum(equation, operands()).unwrap();
                let explanation = Explanation::new(views, options);
                assert_eq!(
                    result(&explanation),
                    Some(texts(einsum(equation, [&x, &y]))),
                    "{equation} {dtype}"
                );
            }
        }
        // An order of complex numbers is refused, and what is refused has no elements.
        let ordered = vec![operand("x", &[1], &["1j"], DType::C64), operand("y", &[1], &["2"], DType::C64)];
        let explanation = Explanation::new(ordered, Options { op: Some(Op::Maximum), ..Options::default() });
        assert_eq!(result(&explanation), None);
    }

    #[test]
    fn diagonals_are_those_of_the_engine() {
        let written: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        for (equation, shape) in [
            ("ii", &[3, 3][..]),
            ("ii->i", &[3, 3]),
            ("iij->ij", &[2, 2, 3]),
            ("iij->ji", &[2, 2, 3]),
            ("jii->ij", &[3, 2, 2]),
            ("iji->j", &[2, 3, 2]),
            ("...ii->...i", &[3, 2, 2]),
            ("iii->i", &[2, 2, 2]),
        ] {
            let numel: usize = shape.iter().product();
            let texts_of = written[..numel].iter().map(String::as_str).collect::<Vec<_>>();
            let x = operand("x", shape, &texts_of, DType::I64);
            let tensor = tensor(&x).unwrap();
            let (views, options) = crate::combined::einsum(equation, vec![x]).unwrap();
            let explanation = Explanation::new(views, options);
            let expected = einsum(equation, [&tensor]).eval().unwrap();
            assert_eq!(result(&explanation), Some(texts(&expected)), "{equation}");
        }
    }

    #[test]
    fn reductions_and_products_are_those_of_the_engine() {
        for (dtype, written) in dtypes().flat_map(|dtype| WRITTEN.map(|written| (dtype, written))) {
            let x = operand("x", &[2, 3], written, dtype);
            let Some(tensor) = tensor(&x) else { continue };
            let expr = Expr::from(&tensor);
            for (op, expected) in [
                (Op::Sum, expr.sum(keepdim(1))),
                (Op::Mean, expr.mean(keepdim(1))),
                (Op::Amax, expr.amax(keepdim(1))),
                (Op::Amin, expr.amin(keepdim(1))),
            ] {
                let reduction = Some(Reduction { op, dims: vec![1], keepdim: true });
                let explanation =
                    Explanation::new(vec![x.clone()], Options { reduction, ..Options::default() });
                let expected = expected.eval().ok();
                assert_eq!(result(&explanation), expected.as_ref().map(texts), "{op:?} {dtype} {written:?}");
            }
            let y = operand("y", &[3, 2], written, dtype);
            let (operands, options) = crate::combined::einsum("ij,jk->ik", vec![x, y]).unwrap();
            let explanation = Explanation::new(operands, options);
            if dtype != DType::Bool {
                let turned = tensor.reshape(&[3, 2]).unwrap();
                let expected = einsum("ij,jk->ik", [&tensor, &turned]).eval().unwrap();
                assert_eq!(result(&explanation), Some(texts(&expected)), "{dtype} {written:?}");
            }
        }
    }
}

//! Every in-place operation with every kind of overlap: it raises, or it gives what it would have given had
//! its operands been copied first. General expressions written to their own operands always give that.

use std::collections::HashMap;

use zerostride::{DType, Error, Expr, Op, Tensor};
use zerostride_ops::for_each_op;

use crate::windows::window;

type Unary = fn(&Tensor) -> Result<(), Error>;
type Binary = fn(&Tensor, &Tensor) -> Result<(), Error>;

macro_rules! put {
    ($list:ident - $($rest:tt)*) => {};
    ($list:ident $name:ident unary) => {
        $list.insert(stringify!($name), (|x| x.$name()) as Unary);
    };
    ($list:ident $name:ident binary) => {
        $list.insert(stringify!($name), (|x, y| x.$name(y)) as Binary);
    };
}

macro_rules! define_lists {
    (
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $ug:ident $uk:literal $($uarg:literal)? $(($($ulist:tt)*))?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bg:ident $bk:literal $($barg:literal)? $(($($blist:tt)*))? $([$law:ident])?;)* }
        $($rest:tt)*
    ) => {
        /// The in-place methods of the table's unary rows.
        pub(crate) fn unary_methods() -> HashMap<&'static str, Unary> {
            let mut list = HashMap::new();
            $(put! { list $ui unary })*
            list
        }

        /// The in-place methods of the table's binary rows.
        pub(crate) fn binary_methods() -> HashMap<&'static str, Binary> {
            let mut list = HashMap::new();
            $(put! { list $bi binary })*
            list
        }

        /// The rows that can be written with `out`.
        fn binary_ops() -> Vec<Op> {
            vec![$(Op::$bv),*]
        }
    };
}

for_each_op!(define_lists);

/// Methods with further operands, each with the second tensor in every place.
fn other_methods() -> HashMap<&'static str, Binary> {
    let methods: [(&'static str, Binary); 13] = [
        ("copy_", |x, y| x.copy_(y)),
        ("add_scaled_", |x, y| x.add_scaled_(y, 2)),
        ("sub_scaled_", |x, y| x.sub_scaled_(y, 2)),
        ("lerp_ to y", |x, y| x.lerp_(y, 0.25)),
        ("lerp_ by y", |x, y| x.lerp_(y, y)),
        ("nan_to_num_", |x, _| x.nan_to_num_(0.0, None, None)),
        ("clamp_ from y", |x, y| x.clamp_(y, None)),
        ("clamp_ between", |x, y| x.clamp_(y, y)),
        ("addcmul_", |x, y| x.addcmul_(y, y, 3)),
        ("addcdiv_", |x, y| x.addcdiv_(y, y, 3)),
        ("masked_fill_", |x, y| x.masked_fill_(y.gt(9)?, y.select_first()?)),
        ("float_power_", |x, y| x.float_power_(y)),
        ("masked_fill_ where itself", |x, y| x.masked_fill_(x.gt(4)?, y.select_first()?)),
    ];
    methods.into_iter().collect()
}

trait First {
    fn select_first(&self) -> Result<Tensor, Error>;
}

impl First for Tensor {
    /// A 0-d view of the first element.
    fn select_first(&self) -> Result<Tensor, Error> {
        let mut view = self.alias();
        while view.ndim() > 0 {
            view = view.select(0, 0)?;
        }
        Ok(view)
    }
}

/// Target and operand as views of one storage of 24 elements, by kind of overlap.
fn kinds(x: &Tensor) -> Vec<(&'static str, Tensor, Tensor)> {
    let view = |shape: &[usize], strides: &[usize], offset: usize| window(x, shape, strides, offset);
    let square = || view(&[3, 3], &[3, 1], 0);
    let reversed = |tensor: Tensor| tensor.flip(&[0]).unwrap();
    vec![
        ("same", square(), square()),
        ("shifted forth", view(&[8], &[1], 1), view(&[8], &[1], 0)),
        ("shifted back", view(&[8], &[1], 0), view(&[8], &[1], 1)),
        ("disjoint", view(&[8], &[1], 0), view(&[8], &[1], 8)),
        ("transposed", square(), view(&[3, 3], &[1, 3], 0)),
        ("transposed target", view(&[3, 3], &[1, 3], 0), square()),
        ("reversed", view(&[8], &[1], 0), reversed(view(&[8], &[1], 0))),
        ("reversed target", reversed(view(&[8], &[1], 0)), view(&[8], &[1], 0)),
        ("both reversed", reversed(view(&[8], &[1], 0)), reversed(view(&[8], &[1], 0))),
        ("reversed every other", reversed(view(&[8], &[2], 0)), view(&[8], &[2], 0)),
        ("interleaved", view(&[8], &[2], 0), view(&[8], &[2], 1)),
        ("every other and all", view(&[8], &[2], 0), view(&[8], &[1], 0)),
        ("all and every other", view(&[8], &[1], 0), view(&[8], &[2], 0)),
        ("columns side by side", view(&[4, 3], &[6, 1], 0), view(&[4, 3], &[6, 1], 3)),
        ("columns that meet", view(&[4, 3], &[6, 1], 0), view(&[4, 3], &[6, 1], 2)),
        ("first row of itself", square(), view(&[3], &[1], 0)),
        ("last row of itself", square(), view(&[3], &[1], 6)),
        ("column of itself", square(), view(&[3, 1], &[3, 1], 1)),
        ("element of itself", square(), view(&[], &[], 4)),
        ("stretched row of itself", square(), view(&[3, 3], &[0, 1], 3)),
        ("diagonal of itself", square(), square().diagonal(0, 0, 1).unwrap()),
        ("windows of itself", view(&[4, 3], &[3, 1], 0), view(&[4, 3], &[1, 1], 4)),
        ("stretched target", view(&[3, 3], &[0, 1], 0), square()),
        ("overlapping target", view(&[4, 3], &[2, 1], 0), view(&[4, 3], &[3, 1], 6)),
        ("0-d same", view(&[], &[], 3), view(&[], &[], 3)),
        ("0-d other", view(&[], &[], 3), view(&[], &[], 4)),
        ("empty", view(&[0, 3], &[3, 1], 2), view(&[0, 3], &[3, 1], 2)),
    ]
}

fn storage(dtype: DType) -> Tensor {
    Tensor::arange(1, 25, 1).unwrap().to_dtype(dtype).unwrap()
}

/// The bits of all elements, whatever the dtype.
fn bits(tensor: &Tensor) -> Vec<u64> {
    match tensor.dtype() {
        DType::F32 => tensor.to_vec::<f32>().unwrap().iter().map(|x| x.to_bits().into()).collect(),
        DType::I64 => tensor.to_vec::<i64>().unwrap().iter().map(|&x| x as u64).collect(),
        DType::U8 => tensor.to_vec::<u8>().unwrap().iter().map(|&x| x.into()).collect(),
        DType::Bool => tensor.to_vec::<bool>().unwrap().iter().map(|&x| x.into()).collect(),
        DType::C64 => {
            let numbers = tensor.to_vec::<zerostride::Complex32>().unwrap();
            numbers.iter().map(|x| u64::from(x.re.to_bits()) << 32 | u64::from(x.im.to_bits())).collect()
        }
        other => panic!("{other} is not in this matrix"),
    }
}

/// What the storage holds after `write`, whose operand is a copy made before.
fn copied_first(
    dtype: DType,
    kind: usize,
    write: impl Fn(&Tensor, &Tensor) -> Result<(), Error>,
) -> Result<Vec<u64>, Error> {
    let x = storage(dtype);
    let (_, target, operand) = kinds(&x).swap_remove(kind);
    write(&target, &operand.clone_elements().unwrap())?;
    Ok(bits(&x))
}

fn is_refusal_of_overlap(error: &Error) -> bool {
    matches!(error.root(), Error::PartialOverlap | Error::WriteToExpanded)
}

/// Whether a call raised without having written, or gave what copies would have given.
fn raises_or_equals_copy_first(
    dtype: DType,
    kind: usize,
    write: impl Fn(&Tensor, &Tensor) -> Result<(), Error>,
) -> Result<(), String> {
    let x = storage(dtype);
    let (name, target, operand) = kinds(&x).swap_remove(kind);
    let found = write(&target, &operand);
    let wanted = copied_first(dtype, kind, &write);
    let fine = match (&found, &wanted) {
        (Ok(()), Ok(wanted)) => bits(&x) == *wanted,
        (Err(error), _) if is_refusal_of_overlap(error) => bits(&x) == bits(&storage(dtype)),
        (Err(error), Err(wanted)) => error.to_string() == wanted.to_string(),
        _ => false,
    };
    if fine { Ok(()) } else { Err(format!("{name}, {dtype}: {found:?}\n    {:?}\n    {wanted:?}", bits(&x))) }
}

#[test]
fn every_in_place_operation_raises_or_equals_copy_first() {
    type Call = Box<dyn Fn(&Tensor, &Tensor) -> Result<(), Error>>;
    let mut calls: Vec<(&str, Call)> = Vec::new();
    calls.extend(
        unary_methods()
            .into_iter()
            .map(|(name, method)| (name, Box::new(move |x: &Tensor, _: &Tensor| method(x)) as _)),
    );
    calls.extend(binary_methods().into_iter().map(|(name, method)| (name, Box::new(method) as _)));
    calls.extend(other_methods().into_iter().map(|(name, method)| (name, Box::new(method) as _)));
    assert!(calls.len() > 80, "only {} methods", calls.len());
    let count = kinds(&storage(DType::F32)).len();
    let mut wrong = Vec::new();
    for dtype in [DType::F32, DType::I64, DType::U8, DType::Bool, DType::C64] {
        for kind in 0..count {
            for (name, call) in &calls {
                if let Err(text) = raises_or_equals_copy_first(dtype, kind, call) {
                    wrong.push(format!("{name}: {text}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn every_out_raises_or_equals_copy_first() {
    let count = kinds(&storage(DType::F32)).len();
    let mut wrong = Vec::new();
    for dtype in [DType::F32, DType::I64, DType::Bool] {
        for kind in 0..count {
            for op in binary_ops() {
                let as_left = |x: &Tensor, y: &Tensor| Tensor::apply_out(op, [y.into(), x.into()], x);
                let alone = |x: &Tensor, y: &Tensor| Tensor::apply_out(op, [y.into(), y.into()], x);
                for write in [&as_left as &dyn Fn(&Tensor, &Tensor) -> Result<(), Error>, &alone] {
                    if let Err(text) = raises_or_equals_copy_first(dtype, kind, write) {
                        wrong.push(format!("{}: {text}", op.name()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn an_expression_written_to_its_operand_equals_copy_first() {
    type Formula = fn(Expr, Expr) -> Expr;
    // Both operands broadcast to the target's shape; x is the target.
    let formulas: [(&str, Formula); 9] = [
        ("a formula", |x, y| (&x * &y + 1) - x),
        ("hoisted row", |x, y| y.exp() * x),
        ("sums of rows of itself", |x, _| x.sum(zerostride::keepdim(-1)) + x),
        ("sums of columns of itself", |x, _| &x / x.sum(zerostride::keepdim(0))),
        ("softmax of itself", |x, _| x.softmax(-1)),
        ("windows of the other", |x, y| x + y.flip(&[-1])),
        ("stretched value", |x, y| x.clone() + (y + 1).sum(..)),
        ("reversed value of itself", |x, _| (x * 2).flip(&[0])),
        ("cast on the way", |x, y| (x.to_dtype(DType::I64) + y.to_dtype(DType::I64)).to_dtype(DType::F32)),
    ];
    let names = kinds(&storage(DType::F32)).iter().map(|(name, ..)| *name).collect::<Vec<_>>();
    let mut seen = 0;
    for (kind, kind_name) in names.iter().enumerate() {
        for (name, formula) in formulas {
            let write = |x: &Tensor, y: &Tensor| formula(x.into(), y.into()).eval_into(x);
            let refused = kind_name.contains("target")
                && matches!(*kind_name, "stretched target" | "overlapping target");
            let x = storage(DType::F32);
            let (_, target, operand) = kinds(&x).swap_remove(kind);
            match write(&target, &operand) {
                Err(Error::WriteToExpanded) => assert!(refused, "{name} on {kind_name}"),
                Err(other) => {
                    let wanted = copied_first(DType::F32, kind, write).unwrap_err();
                    assert_eq!(other.to_string(), wanted.to_string(), "{name} on {kind_name}");
                }
                Ok(()) => {
                    assert_eq!(
                        bits(&x),
                        copied_first(DType::F32, kind, write).unwrap(),
                        "{name} on {kind_name}"
                    );
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 150, "only {seen} were written");
}

#[test]
fn a_product_may_be_written_over_its_factors() {
    for (target, left, right) in [(0, 0, 9), (0, 9, 0), (9, 0, 0), (3, 0, 0), (0, 0, 0)] {
        let x = storage(DType::F32);
        let square = |offset| window(&x, &[3, 3], &[3, 1], offset);
        let wanted =
            square(left).clone_elements().unwrap().matmul(square(right).clone_elements().unwrap()).unwrap();
        Expr::from(square(left)).matmul(square(right)).eval_into(&square(target)).unwrap();
        assert_eq!(bits(&square(target)), bits(&wanted), "{target} = {left} @ {right}");
        // And into a transposed window of another storage.
        let out = Tensor::zeros(&[3, 3]).unwrap();
        Expr::from(square(left)).matmul(square(right)).eval_into(&out.t().unwrap()).unwrap();
        let own = square(left).matmul(square(right)).unwrap();
        assert_eq!(bits(&out.t().unwrap()), bits(&own));
    }
}

#[test]
fn a_failed_write_leaves_the_target_alone() {
    let x = Tensor::arange(1, 7, 1).unwrap();
    assert!(x.add_(Tensor::zeros(&[2]).unwrap()).is_err());
    assert!(x.mul_(0.5).is_err());
    assert!(x.add_(x.narrow(0, 0, 5).unwrap()).is_err());
    assert_eq!(x.to_vec::<i64>().unwrap(), [1, 2, 3, 4, 5, 6]);
}

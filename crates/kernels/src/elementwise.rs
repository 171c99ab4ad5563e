//! Owns the element-wise kernels: one loop over tiles for each arity, and the dispatch from the op table to a body.
//! It does not know what an operation computes (`bodies/`), nor where a tile comes from.

use bytemuck::{cast_slice, cast_slice_mut};
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{DType, Element, Op, for_each_op};

use crate::bodies::{boolean, complex, float, integer};
use crate::isa;

/// What a kernel can find wrong with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An integer was divided by zero.
    ZeroDivision,
}

/// A kernel: reads one contiguous tile for each operand, writes one tile.
///
/// All tiles hold the same number of elements, in their stored form, aligned to their type; operands are of the dtype
/// that [`Op::infer`] computes in, the output of the dtype that it returns.
pub type MapKernel = Box<dyn Fn(&[&[u8]], &mut [u8]) -> Result<(), Fault> + Send + Sync>;

fn unary<A: Element, R: Element>(body: impl Fn(A) -> R + Send + Sync + 'static) -> MapKernel {
    Box::new(move |inputs, out| {
        let a: &[A::Stored] = cast_slice(inputs[0]);
        let out = cast_slice_mut::<u8, R::Stored>(out);
        isa::run(|| {
            for (out, &a) in out.iter_mut().zip(a) {
                *out = body(A::load(a)).store();
            }
        });
        Ok(())
    })
}

fn binary<A: Element, R: Element>(body: impl Fn(A, A) -> R + Send + Sync + 'static) -> MapKernel {
    Box::new(move |inputs, out| {
        let a: &[A::Stored] = cast_slice(inputs[0]);
        let b: &[A::Stored] = cast_slice(inputs[1]);
        let out = cast_slice_mut::<u8, R::Stored>(out);
        isa::run(|| {
            for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                *out = body(A::load(a), A::load(b)).store();
            }
        });
        Ok(())
    })
}

fn nary<A: Element, const N: usize>(body: impl Fn([A; N]) -> A + Send + Sync + 'static) -> MapKernel {
    Box::new(move |inputs, out| {
        let operands: [&[A::Stored]; N] = std::array::from_fn(|operand| cast_slice(inputs[operand]));
        let out = cast_slice_mut::<u8, A::Stored>(out);
        isa::run(|| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = body(operands.map(|operand| A::load(operand[i]))).store();
            }
        });
        Ok(())
    })
}

/// An integer division that looks for a zero among the divisors before it writes anything.
fn guarded<A: integer::Integer>(divide: MapKernel) -> MapKernel {
    Box::new(move |inputs, out| {
        if cast_slice::<u8, A::Stored>(inputs[1]).iter().any(|&divisor| A::load(divisor) == A::ZERO) {
            return Err(Fault::ZeroDivision);
        }
        divide(inputs, out)
    })
}

/// The kernel, where the row's domain and rule let it compute in that kind of dtype.
///
/// A float-valued operation computes in floats even on integers, so bool and integers have no body there.
#[rustfmt::skip]
macro_rules! body {
    (boolean $domain:ident float      $kernel:expr) => { None };
    (boolean $domain:ident float_real $kernel:expr) => { None };
    (boolean $domain:ident double     $kernel:expr) => { None };
    (boolean any           $rule:ident $kernel:expr) => { Some($kernel) };
    (boolean real          $rule:ident $kernel:expr) => { Some($kernel) };
    (boolean integral      $rule:ident $kernel:expr) => { Some($kernel) };
    (boolean $domain:ident $rule:ident $kernel:expr) => { None };
    (integer $domain:ident float      $kernel:expr) => { None };
    (integer $domain:ident float_real $kernel:expr) => { None };
    (integer floats        $rule:ident $kernel:expr) => { None };
    (integer inexact       $rule:ident $kernel:expr) => { None };
    (integer complexes     $rule:ident $kernel:expr) => { None };
    (integer $domain:ident $rule:ident $kernel:expr) => { Some($kernel) };
    (float   integral      $rule:ident $kernel:expr) => { None };
    (float   integer       $rule:ident $kernel:expr) => { None };
    (float   complexes     $rule:ident $kernel:expr) => { None };
    (float   $domain:ident $rule:ident $kernel:expr) => { Some($kernel) };
    (complex any           $rule:ident $kernel:expr) => { Some($kernel) };
    (complex numeric       $rule:ident $kernel:expr) => { Some($kernel) };
    (complex inexact       $rule:ident $kernel:expr) => { Some($kernel) };
    (complex complexes     $rule:ident $kernel:expr) => { Some($kernel) };
    (complex $domain:ident $rule:ident $kernel:expr) => { None };
}

/// One function for a kind of dtype: every row of the table whose domain holds the kind names a body in that kind's
/// module, so that a missing one does not compile.
macro_rules! define_kind {
    (
        $kind:ident $function:ident [$($generics:tt)*] [$($alias:item)?]
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $uk:literal $($uarg:literal)?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $bk:literal $($barg:literal)? $([$law:ident])?;)* }
        nary { $($(#[$ndoc:meta])* $nv:ident $nn:ident $ni:tt [$($na:ident)*] $ns:tt $nd:ident $nr:ident $nk:literal $narg:literal;)* }
        reduce { $($reduce:tt)* }
        formula { $($formula:tt)* }
    ) => {
        fn $function $($generics)* (op: Op) -> Option<MapKernel> {
            $($alias)?
            match op {
                $(Op::$uv => body!($kind $ud $ur unary::<T, _>($kind::$un)),)*
                $(Op::$bv => body!($kind $bd $br binary::<T, _>($kind::$bn)),)*
                $(Op::$nv => body!($kind $nd $nr nary::<T, _>($kind::$nn)),)*
                _ => None,
            }
        }
    };
}

for_each_op!(define_kind, boolean boolean_kernel [] [type T = bool;]);
for_each_op!(define_kind, integer integer_kernel [<T: integer::Integer>] []);
for_each_op!(define_kind, float float_kernel [<T: float::Float>] []);
for_each_op!(define_kind, complex complex_kernel [<T: complex::Complex>] []);

/// The kernel of an element-wise operation that computes in `compute`; `None` outside the operation's domain.
///
/// ```
/// use zerostride_kernels::map_kernel;
/// use zerostride_ops::{DType, Op};
///
/// let add = map_kernel(Op::Add, DType::U8).expect("u8 is in the domain of add");
/// let mut sum = [0; 3];
/// add(&[&[1, 2, 255], &[10, 20, 1]], &mut sum)?;
/// assert_eq!(sum, [11, 22, 0]);
/// # Ok::<(), zerostride_kernels::Fault>(())
/// ```
pub fn map_kernel(op: Op, compute: DType) -> Option<MapKernel> {
    match compute {
        DType::Bool => boolean_kernel(op),
        DType::U8 => guarded_kernel::<u8>(op),
        DType::U16 => guarded_kernel::<u16>(op),
        DType::U32 => guarded_kernel::<u32>(op),
        DType::U64 => guarded_kernel::<u64>(op),
        DType::I8 => guarded_kernel::<i8>(op),
        DType::I16 => guarded_kernel::<i16>(op),
        DType::I32 => guarded_kernel::<i32>(op),
        DType::I64 => guarded_kernel::<i64>(op),
        DType::F16 => float_kernel::<f16>(op),
        DType::BF16 => float_kernel::<bf16>(op),
        DType::F32 => float_kernel::<f32>(op),
        DType::F64 => float_kernel::<f64>(op),
        DType::C64 => complex_kernel::<Complex32>(op),
        DType::C128 => complex_kernel::<Complex64>(op),
    }
}

fn guarded_kernel<T: integer::Integer>(op: Op) -> Option<MapKernel> {
    let kernel = integer_kernel::<T>(op)?;
    let divides = matches!(op, Op::FloorDivide | Op::DivTrunc | Op::Remainder | Op::Fmod);
    Some(if divides { guarded::<T>(kernel) } else { kernel })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_exists_exactly_where_the_table_has_the_dtype_in_its_domain() {
        for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
            for dtype in DType::ALL {
                let operands =
                    vec![zerostride_ops::Typed::dimensioned(dtype); op.info().signature().arguments.len()];
                let computes_in = op.infer(&operands).is_ok_and(|inferred| inferred.compute == dtype);
                if computes_in && op != Op::Where {
                    assert!(map_kernel(op, dtype).is_some(), "{op:?} has no body for {dtype}");
                }
                if !op.info().domain.contains(dtype.category()) {
                    assert!(
                        map_kernel(op, dtype).is_none(),
                        "{op:?} has a body for {dtype} outside its domain"
                    );
                }
            }
        }
    }

    #[test]
    fn a_zero_divisor_is_reported_before_anything_is_written() {
        let divide = map_kernel(Op::FloorDivide, DType::I8).unwrap();
        let mut out = [7, 7];
        assert_eq!(divide(&[&[1, 2], &[1, 0]], &mut out), Err(Fault::ZeroDivision));
        assert_eq!(out, [7, 7]);
    }
}

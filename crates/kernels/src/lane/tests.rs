//! Holds what lanes move, but do not compute, to plain indices.

use std::marker::PhantomData;

use super::{Element, Register, TRANSPOSED};
use crate::isa::{Isa, Task, run_on};

struct Transposes<L>(PhantomData<L>);

impl<L: Register> Task for Transposes<L> {
    #[inline(always)]
    fn run(self) {
        let row = |i: usize| std::array::from_fn(|j| L::Elem::from_f64((TRANSPOSED * i + j) as f64));
        for (j, lane) in L::transposed(row).into_iter().enumerate() {
            assert!((0..L::LEN).all(|i| lane.element(i) == L::Elem::from_f64((TRANSPOSED * i + j) as f64)));
        }
    }
}

#[test]
fn rows_are_loaded_transposed_on_every_lane() {
    run_on(Isa::Portable, Transposes::<f32>(PhantomData));
    #[cfg(target_arch = "x86_64")]
    {
        use crate::lane::{avx2, avx512};
        run_on(Isa::Avx2, Transposes::<avx2::F32x8>(PhantomData));
        run_on(Isa::Avx2, Transposes::<avx2::F64x4>(PhantomData));
        run_on(Isa::Avx512, Transposes::<avx512::F32x16>(PhantomData));
        run_on(Isa::Avx512, Transposes::<avx512::F64x8>(PhantomData));
    }
    #[cfg(target_arch = "aarch64")]
    {
        use crate::lane::neon;
        run_on(Isa::Neon, Transposes::<neon::F32x4>(PhantomData));
        run_on(Isa::Neon, Transposes::<neon::F64x2>(PhantomData));
    }
}

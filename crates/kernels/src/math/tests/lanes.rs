//! Runs every function on every kind of register that the processor has, and compares the bits with those of
//! one element.

use std::marker::PhantomData;

use crate::isa::{self, Isa, Task};
#[cfg(target_arch = "aarch64")]
use crate::lane::neon;
#[cfg(target_arch = "x86_64")]
use crate::lane::{avx2, avx512};
use crate::math::{self, Real};

/// An element type with samples.
trait Sample: Real<Elem = Self> + std::fmt::Debug {
    /// Numbers at which functions change their formula: ends of domains, of ranges and of polynomials, and
    /// their neighbours.
    fn special() -> Vec<Self>;
    /// From all bit patterns, or of ordinary size.
    fn random(bits: u64) -> Self;
    /// NaN for NaN, otherwise the same bits.
    fn is_same(self, other: Self) -> bool;
}

/// The borders in the functions' bodies.
const BORDERS: [f64; 46] = [
    0.0,
    1e-300,
    1e-150,
    1e-45,
    1e-38,
    1e-30,
    1e-20,
    1e-17,
    1e-8,
    0.1,
    0.25,
    0.41421356237309503,
    0.46875,
    0.5,
    0.6875,
    0.75,
    0.9,
    1.0,
    1.25,
    1.5,
    2.0,
    2.414213562373095,
    3.0,
    4.0,
    5.5,
    6.0,
    7.5,
    8.0,
    9.0,
    10.0,
    12.0,
    22.0,
    28.0,
    39.0,
    64.0,
    88.5,
    104.0,
    151.0,
    710.0,
    746.0,
    1076.0,
    1e9,
    1e20,
    1e38,
    1e200,
    1e308,
];

macro_rules! sample {
    ($float:ident, $bits:ident) => {
        impl Sample for $float {
            fn special() -> Vec<Self> {
                let borders = BORDERS.iter().flat_map(|&x| {
                    let x = x as $float;
                    [x.next_down(), x, x.next_up()]
                });
                let ends = [$float::MIN_POSITIVE, $float::MAX, $float::INFINITY, $float::NAN];
                let ends = ends.into_iter().flat_map(|x| [x.next_down(), x]);
                borders.chain(ends).flat_map(|x| [x, -x]).collect()
            }

            fn random(bits: u64) -> Self {
                let any = $float::from_bits((bits >> 8) as $bits);
                // A significand from 1 to 2, a sign, and an exponent in the range of most functions' borders.
                let one = (1 as $float).to_bits();
                let ordinary = $float::from_bits((any.to_bits() & !one) | one);
                let ordinary = ordinary * (2 as $float).powi((bits & 31) as i32 - 20);
                if bits & 0x80 == 0 { any } else { ordinary }
            }

            fn is_same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }
        }
    };
}

sample!(f32, u32);
sample!(f64, u64);

/// The next pseudo-random number (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// All tuples of special values and many of random ones.
fn arguments<T: Sample, const N: usize>() -> Vec<[T; N]> {
    let special = T::special();
    let tuples = (0..special.len().pow(N.min(2) as u32))
        .map(|i| std::array::from_fn(|place| special[i / special.len().pow(place as u32) % special.len()]));
    let mut state = 1;
    let random = (0..40_000).map(|_| std::array::from_fn(|_| T::random(next(&mut state))));
    tuples.chain(random).collect()
}

/// A function on any lane.
pub(super) trait Function<const N: usize> {
    const NAME: &str;
    fn at<V: Real>(arguments: [V; N]) -> V;
}

/// The result on one element, compiled once for all the lanes that are compared with it.
#[inline(never)]
fn alone<T: Sample, F: Function<N>, const N: usize>(arguments: [T; N]) -> T {
    F::at(arguments)
}

/// Compares a function of registers with the same function of elements.
struct Comparison<V, F, const N: usize>(PhantomData<(V, F)>);

impl<V: Real<Elem: Sample>, F: Function<N>, const N: usize> Task for Comparison<V, F, N> {
    #[inline(always)]
    fn run(self) {
        let arguments = arguments::<V::Elem, N>();
        // Again with other neighbours: those of a prime distance, which need other ways of a function.
        let apart = (0..arguments.len()).map(|i| arguments[i * 7919 % arguments.len()]).collect();
        for rows in [&arguments, &apart].into_iter().flat_map(|arguments: &Vec<_>| arguments.chunks(V::LEN)) {
            let row = |i: usize| rows[i.min(rows.len() - 1)];
            let got = F::at::<V>(std::array::from_fn(|place| V::from_fn(|i| row(i)[place])));
            for (i, &arguments) in rows.iter().enumerate() {
                let (got, want) = (got.element(i), alone::<_, F, N>(arguments));
                let lane = std::any::type_name::<V>();
                assert!(got.is_same(want), "{}{arguments:?} is {got:?} in {lane}, {want:?} alone", F::NAME);
            }
        }
    }
}

fn compare<V: Real<Elem: Sample>, F: Function<N>, const N: usize>(isa: Isa) {
    isa::run_on(isa, Comparison::<V, F, N>(PhantomData));
}

/// Compares `logaddexp` of one element, in each place of a register, with the same element alone.
struct Beside<V>(PhantomData<V>);

impl<V: Real<Elem = f32>> Task for Beside<V> {
    #[inline(always)]
    fn run(self) {
        // In double words, which the neighbours need, this element would be rounded otherwise.
        let (element, neighbours) = ([2.5095407e-29, -13.733875], [-std::f32::consts::LN_2; 2]);
        for place in 0..V::LEN {
            let [a, b] =
                [0, 1].map(|side| V::from_fn(|i| if i == place { element[side] } else { neighbours[side] }));
            let got = math::logaddexp(a, b).element(place);
            assert_eq!(got.to_bits(), math::logaddexp(element[0], element[1]).to_bits(), "in place {place}");
        }
    }
}

#[test]
fn logaddexp_of_an_element_does_not_depend_on_its_neighbours() {
    #[cfg(target_arch = "x86_64")]
    {
        isa::run_on(Isa::Avx512, Beside::<avx512::F32x16>(PhantomData));
        isa::run_on(Isa::Avx2, Beside::<avx2::F32x8>(PhantomData));
    }
    #[cfg(target_arch = "aarch64")]
    isa::run_on(Isa::Neon, Beside::<neon::F32x4>(PhantomData));
}

/// Compares on every lane that the processor has.
fn compare_lanes<F: Function<N>, const N: usize>() {
    #[cfg(target_arch = "x86_64")]
    {
        compare::<avx512::F32x16, F, N>(Isa::Avx512);
        compare::<avx512::F64x8, F, N>(Isa::Avx512);
        compare::<avx2::F32x8, F, N>(Isa::Avx2);
        compare::<avx2::F64x4, F, N>(Isa::Avx2);
    }
    #[cfg(target_arch = "aarch64")]
    {
        compare::<neon::F32x4, F, N>(Isa::Neon);
        compare::<neon::F64x2, F, N>(Isa::Neon);
    }
}

macro_rules! functions {
    ($($name:ident($($x:ident),+);)*) => {$(
        #[test]
        fn $name() {
            const COUNT: usize = [$(stringify!($x)),+].len();
            struct Case;
            impl Function<COUNT> for Case {
                const NAME: &str = stringify!($name);

                #[inline(always)]
                fn at<V: Real>([$($x),+]: [V; COUNT]) -> V {
                    math::$name($($x),+)
                }
            }
            compare_lanes::<Case, COUNT>();
        }
    )*};
}

/// The list of functions, with arguments.
macro_rules! with_arguments {
    (unary { $($unary:ident)* } binary { $($binary:ident)* }) => {
        functions! { $($unary(x);)* $($binary(x, y);)* softplus(x, beta, threshold); }
    };
}

math::for_each_function!(with_arguments);

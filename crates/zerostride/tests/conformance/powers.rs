//! Powers to numbers for which PyTorch takes no logarithm: its values, and the bits of the operations that it
//! takes instead.

use zerostride::{Complex64, DType, Expr, Scalar, Tensor};

const BASES: [f32; 8] = [1.1, -0.7, 3.3, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1e-20, -5.5];

/// The bits of PyTorch's powers of the bases. NaN has no sign here.
const NAN: u32 = 0x7fc0_0000;
#[rustfmt::skip]
const POWERS: [(f64, [u32; 8]); 5] = [
    (0.5, [0x3f86_3f5f, NAN, 0x3fe8_8607, 0x8000_0000, 0x7f80_0000, NAN, 0x2edb_e6ff, NAN]),
    (-0.5, [0x3f74_1620, NAN, 0x3f0c_ec62, 0xff80_0000, 0, NAN, 0x5015_02f9, NAN]),
    (-1.0, [0x3f68_ba2e, 0xbfb6_db6e, 0x3e9b_26ca, 0xff80_0000, 0, 0x8000_0000, 0x60ad_78ec, 0xbe3a_2e8c]),
    (3.0, [0x3faa_5e36, 0xbeaf_9db2, 0x420f_bf7c, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0, 0xc326_6000]),
    (-2.0, [0x3f53_91fb, 0x4002_9cbc, 0x3dbc_0ffd, 0x7f80_0000, 0, 0, 0x7f80_0000, 0x3d07_67ab]),
];

/// What PyTorch takes instead of a power.
fn instead(x: &Expr, power: f64) -> Expr {
    match power {
        0.5 => x.sqrt(),
        -0.5 => x.rsqrt(),
        -1.0 => x.reciprocal(),
        2.0 => x * x,
        3.0 => x * x * x,
        -2.0 => (x * x).reciprocal(),
        other => unreachable!("{other} is no such power"),
    }
}

/// The value as it is printed in full, in which only the sign of NaN is lost.
fn shown(value: &Tensor) -> String {
    format!("{:?}", value.to_dtype(DType::C128).unwrap().to_vec::<Complex64>().unwrap())
        .replace("-NaN", "NaN")
}

#[test]
fn powers_that_take_no_logarithm_have_the_values_of_pytorch() {
    let x = Tensor::from_slice(&BASES, &[8]).unwrap();
    for (power, wanted) in POWERS {
        let found: Vec<f32> = x.pow(power).unwrap().to_vec().unwrap();
        let bits: Vec<u32> = found.iter().map(|x| if x.is_nan() { NAN } else { x.to_bits() }).collect();
        // PyTorch's roots are those of a library, and not all of them are the nearest numbers.
        let most = u32::from(power.abs() == 0.5);
        let are_near = bits.iter().zip(wanted).all(|(found, wanted)| found.abs_diff(wanted) <= most);
        assert!(are_near, "{power}: {found:?}");
    }
}

#[test]
fn powers_that_take_no_logarithm_are_other_operations_in_every_way_of_evaluation() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128] {
        for len in [3, 8, 1000] {
            let some = Tensor::from_slice(&BASES, &[8]).unwrap().to_dtype(dtype).unwrap();
            let x = some.repeat(&[125]).unwrap().narrow(0, 0, len).unwrap();
            for power in [0.5, -0.5, -1.0, 2.0, 3.0, -2.0] {
                let is_taken = dtype != DType::F16 || [2.0, -1.0].contains(&power);
                let same = |found: &Tensor, wanted: &Tensor, way: &str| {
                    let is_same = shown(found) == shown(wanted);
                    assert!(is_same || !is_taken, "{dtype} ** {power} of {len}, {way}: {found} for {wanted}");
                };
                let wanted = instead(&Expr::from(&x), power).eval().unwrap();
                let found = x.pow(power).unwrap();
                assert_eq!(found.dtype(), dtype);
                same(&found, &wanted, "at once");
                same(&(Expr::from(&x).pow(power).neg()).eval().unwrap().neg().unwrap(), &wanted, "fused");
                let own = x.clone_elements().unwrap();
                own.pow_(power).unwrap();
                same(&own, &wanted, "in place");
                if dtype >= DType::C64 {
                    same(&x.pow(Scalar::Complex(power.into())).unwrap(), &wanted, "to a complex number");
                }
            }
        }
    }
}

#[test]
fn other_powers_take_the_kernel() {
    // PyTorch's kernel for f16 takes the root of no infinity, nor does one of tensors.
    let x = Tensor::from_slice(&BASES, &[8]).unwrap();
    let halves = x.to_dtype(DType::F16).unwrap().pow(0.5).unwrap();
    for found in [halves, x.pow(Tensor::full(&[8], 0.5, DType::F32).unwrap()).unwrap()] {
        let found: Vec<f32> = found.to_dtype(DType::F32).unwrap().to_vec().unwrap();
        assert_eq!((found[3].to_bits(), found[5]), (0, f32::INFINITY));
    }
    let integers = Tensor::from_slice(&[3i64, -2], &[2]).unwrap();
    assert_eq!(integers.pow(3).unwrap().to_vec::<i64>().unwrap(), [27, -8]);
    assert_eq!(integers.pow(-1.0).unwrap().to_vec::<f32>().unwrap(), [1.0 / 3.0, -0.5]);
}

#[test]
fn everything_to_the_power_0_and_1_to_the_power_of_everything_is_1() {
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    let elements = [(0.0, 0.0), (infinity, 0.0), (nan, 1.0), (0.0, -infinity), (-2.0, nan)];
    let elements = elements.map(|(re, im)| Complex64::new(re, im));
    for len in [5, 1000] {
        let some = Tensor::from_slice(&elements, &[5]).unwrap().repeat(&[len / 5]).unwrap();
        let (zero, one) = (Complex64::new(0.0, 0.0), Complex64::new(1.0, 0.0));
        for dtype in [DType::I32, DType::F16, DType::F32, DType::F64, DType::C64, DType::C128] {
            let x = match dtype >= DType::C64 {
                true => some.to_dtype(dtype).unwrap(),
                false => some.real().unwrap().to_dtype(dtype).unwrap(),
            };
            let base = |number: Scalar| Expr::from(number).pow(&x).eval().unwrap();
            let in_place = x.clone_elements().unwrap();
            in_place.pow_(0).unwrap();
            for found in [
                x.pow(0).unwrap(),
                x.pow(-0.0).unwrap(),
                x.pow(zero).unwrap(),
                x.float_power(0).unwrap(),
                Expr::from(1.0).float_power(&x).eval().unwrap(),
                Expr::from(&x).pow(0).neg().eval().unwrap().neg().unwrap(),
                base(Scalar::Int(1)),
                base(Scalar::Float(1.0)),
                base(Scalar::Complex(one)),
                in_place,
            ] {
                let all = found.to_dtype(DType::C128).unwrap().to_vec::<Complex64>().unwrap();
                assert!(all.iter().all(|&y| y == one), "{dtype}: {found}");
            }
        }
    }
}

#[test]
fn bools_have_powers_of_bool_numbers_alone() {
    let x = zerostride::tensor![true, false];
    assert_eq!(x.pow(true).unwrap().to_vec::<bool>().unwrap(), [true, false]);
    assert_eq!(x.pow(false).unwrap().to_vec::<bool>().unwrap(), [true, true]);
    assert!(!x.pow(true).unwrap().shares_storage(&x));
    assert_eq!(Expr::from(&x).pow(false).logical_not().eval().unwrap().to_vec::<bool>().unwrap(), [false; 2]);
    for refused in [x.pow(&x), Expr::from(true).pow(&x).eval()] {
        assert!(refused.unwrap_err().to_string().contains("\"pow\" not implemented for 'Bool'"));
    }
}

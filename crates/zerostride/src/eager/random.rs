//! Owns the creation of random tensors: the generator and the two distributions. It does not know how the
//! inverse of a distribution function is computed (`kernels`).

use std::f64::consts::SQRT_2;

use bytemuck::{Pod, cast_slice_mut};
use half::{bf16, f16};
use zerostride_ops::{Category, DType};
use zerostride_shape::Shape;

use crate::interrupt::{self, STRIDE};
use crate::{Error, Expr, Result, Tensor, exec};

/// Numbers that `randn` computes at once, so that what it holds beside the result stays in cache.
const RANDN_ELEMENTS: usize = 1 << 16;

impl Tensor {
    /// Uniform random numbers in [0, 1), as f32; the same for the same seed on every machine.
    ///
    /// Source: the generator is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014); the numbers are not PyTorch's.
    ///
    /// # Errors
    /// The shape is too large, or there is no memory.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// assert_eq!(Tensor::rand(&[3], 7)?.to_vec::<f32>()?, Tensor::rand(&[3], 7)?.to_vec::<f32>()?);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn rand(shape: &[usize], seed: u64) -> Result<Tensor> {
        Self::rand_as(shape, DType::F32, seed)
    }

    /// [`Tensor::rand`] as another float: each has all the bits that its dtype holds below 1, and is the one
    /// of a wider dtype without the bits that it has no room for.
    ///
    /// # Errors
    /// The dtype is no float, the shape is too large, or there is no memory.
    ///
    /// ```
    /// use zerostride::{DType, Tensor};
    /// let (wide, narrow) = (Tensor::rand_as(&[3], DType::F64, 7)?, Tensor::rand(&[3], 7)?);
    /// assert!(wide.sub(&narrow)?.to_vec::<f64>()?.iter().all(|&rest| (0.0..0.5f64.powi(24)).contains(&rest)));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn rand_as(shape: &[usize], dtype: DType, seed: u64) -> Result<Tensor> {
        let fill: fn(&mut [u8], u64) = match dtype {
            DType::F16 => |bytes, seed| draw(bytes, 0, |place| f16::from_f64(fraction(seed, place, 11))),
            DType::BF16 => |bytes, seed| draw(bytes, 0, |place| bf16::from_f64(fraction(seed, place, 8))),
            DType::F32 => |bytes, seed| draw(bytes, 0, |place| fraction(seed, place, 24) as f32),
            DType::F64 => |bytes, seed| draw(bytes, 0, |place| fraction(seed, place, 53)),
            _ => return Err(Error::not_implemented("check_uniform_bounds", dtype)),
        };
        Tensor::build(dtype, Shape::new(shape)?, |bytes| {
            fill(bytes, seed);
            Ok(())
        })
    }

    /// Uniform random integers from `low` up to but without `high`, as i64; the same for the same seed on
    /// every machine.
    ///
    /// # Errors
    /// `high` is not above `low`, the shape is too large, or there is no memory.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let dice = Tensor::randint(1, 7, &[1000], 3)?;
    /// assert_eq!((dice.amin(..)?.item::<i64>()?, dice.amax(..)?.item::<i64>()?), (1, 6));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn randint(low: i64, high: i64, shape: &[usize], seed: u64) -> Result<Tensor> {
        if low >= high {
            return Err(Error::runtime(format_args!(
                "random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
            )));
        }
        let range = u128::from(high.abs_diff(low));
        Tensor::build(DType::I64, Shape::new(shape)?, |bytes| {
            // The high half of a product spreads 64 bits evenly over the range.
            draw(bytes, 0, |place| {
                low.wrapping_add(((u128::from(random(seed, place + 1)) * range) >> 64) as i64)
            });
            Ok(())
        })
    }

    /// Random numbers of the normal distribution with mean 0 and variance 1, as f32; the same for the same
    /// seed on every machine. They have nothing to do with those that [`Tensor::rand`] makes of that seed.
    ///
    /// Source: inversion (Devroye, Non-Uniform Random Variate Generation, 1986, II.2): √2 erfinv(u), computed
    /// in f64 and rounded once, of numbers u in (-1, 1) with 53 bits of `rand`'s generator. None is beyond
    /// 8.3; the numbers are not PyTorch's.
    ///
    /// # Errors
    /// The shape is too large, or there is no memory.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let x = Tensor::randn(&[200, 300], 7)?;
    /// assert!(x.mean(..)?.item::<f32>()?.abs() < 0.01 && (x.std(..)?.item::<f32>()? - 1.0).abs() < 0.01);
    /// assert_eq!(x.to_vec::<f32>()?, Tensor::randn(&[200, 300], 7)?.to_vec::<f32>()?);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn randn(shape: &[usize], seed: u64) -> Result<Tensor> {
        Self::randn_as(shape, DType::F32, seed)
    }

    /// [`Tensor::randn`] as another float: the same numbers, rounded to it.
    ///
    /// # Errors
    /// The dtype is no float, the shape is too large, or there is no memory.
    ///
    /// ```
    /// use zerostride::{DType, Tensor};
    /// let wide = Tensor::randn_as(&[3], DType::F64, 7)?;
    /// assert_eq!(wide.to_dtype(DType::F32)?.to_vec::<f32>()?, Tensor::randn(&[3], 7)?.to_vec::<f32>()?);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn randn_as(shape: &[usize], dtype: DType, seed: u64) -> Result<Tensor> {
        if dtype.category() != Category::Float {
            return Err(Error::not_implemented("normal_kernel_cpu", dtype));
        }
        let numbers = Tensor::build(dtype, Shape::new(shape)?, |_| Ok(()))?;
        let line = numbers.view(&[numbers.numel() as isize])?;
        let seed = random(seed, 1);
        for start in (0..numbers.numel()).step_by(RANDN_ELEMENTS) {
            let part = line.slice(0, start..numbers.numel().min(start + RANDN_ELEMENTS))?;
            let uniform = Tensor::build(DType::F64, part.shape_value().clone(), |bytes| {
                draw(bytes, start, |place| {
                    // An odd number of 2^-53, which no rounding takes to an end of the interval.
                    let odd = (random(seed, place) >> 10 | 1) as i64 - (1 << 53);
                    odd as f64 / (1u64 << 53) as f64
                });
                Ok(())
            })?;
            exec::run_into(&(Expr::current(&uniform).erfinv() * SQRT_2), &part)?;
        }
        Ok(numbers)
    }
}

/// Writes the number of each place in the sequence, from one on.
fn draw<T: Pod>(bytes: &mut [u8], start: usize, number: impl Fn(u64) -> T) {
    for (i, element) in (start..).zip(cast_slice_mut::<u8, T>(bytes)) {
        if i.is_multiple_of(STRIDE) {
            interrupt::check();
        }
        *element = number(i as u64);
    }
}

/// The first binary digits of a place in the sequence, as a number in [0, 1).
fn fraction(seed: u64, place: u64, digits: u32) -> f64 {
    (random(seed, place + 1) >> (64 - digits)) as f64 / (1u64 << digits) as f64
}

/// The random bits at a place in the sequence of a seed: SplitMix64.
fn random(seed: u64, place: u64) -> u64 {
    let state = seed.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_are_those_of_the_documented_algorithm() {
        // Computed with 200 bits by mpmath from the same integers.
        for (seed, bits) in [
            (0, [0xbf13deb8, 0x3ec8ac46, 0x3f0723ca, 0xbe92da64, 0x3ece2e0b]),
            (7, [0xbde2de68, 0x3f165b1c, 0x3ec4e01d, 0x3dfe1e0b, 0x3e875574]),
        ] {
            let numbers = Tensor::randn(&[5], seed).unwrap().to_vec::<f32>().unwrap();
            assert_eq!(numbers.iter().map(|number| number.to_bits()).collect::<Vec<u32>>(), bits);
        }
    }

    #[test]
    fn numbers_of_a_larger_tensor_begin_with_those_of_a_smaller_one() {
        let long = Tensor::randn(&[2, RANDN_ELEMENTS / 2 + 100], 3).unwrap().to_vec::<f32>().unwrap();
        let short = Tensor::randn(&[RANDN_ELEMENTS + 7], 3).unwrap().to_vec::<f32>().unwrap();
        assert!(long.starts_with(&short));
        assert_eq!(Tensor::randn(&[3, 0], 3).unwrap().shape(), [3, 0]);
        assert_eq!(Tensor::randn(&[], 3).unwrap().item::<f32>().unwrap(), short[0]);
    }

    #[test]
    fn narrow_floats_are_drawn_below_1_and_what_is_no_float_is_refused_before_memory_is_taken() {
        let drawn = |dtype| Tensor::rand_as(&[100_000], dtype, 5).unwrap();
        let wide = drawn(DType::F64).to_vec::<f64>().unwrap();
        for (dtype, digits) in [(DType::F16, 11), (DType::BF16, 8), (DType::F32, 24)] {
            let narrow = drawn(dtype);
            assert_eq!(narrow.dtype(), dtype);
            let narrow = narrow.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
            let scale = f64::from(1 << digits);
            assert!(narrow.iter().zip(&wide).all(|(narrow, wide)| *narrow == (wide * scale).floor() / scale));
            assert_eq!(Tensor::randn_as(&[2, 3], dtype, 5).unwrap().dtype(), dtype);
        }
        let huge = [1 << 40];
        for (found, kernel) in [
            (Tensor::rand_as(&huge, DType::I32, 1), "\"check_uniform_bounds\" not implemented for 'Int'"),
            (Tensor::randn_as(&huge, DType::I32, 1), "\"normal_kernel_cpu\" not implemented for 'Int'"),
        ] {
            assert_eq!(found.unwrap_err().to_string(), kernel);
        }
    }

    #[test]
    fn normal_numbers_have_the_distribution_and_nothing_to_do_with_uniform_ones() {
        let count = 100_000;
        let normal = Tensor::randn(&[count], 11).unwrap().to_dtype(DType::F64).unwrap();
        let mean = |x: Tensor| x.mean(..).unwrap().item::<f64>().unwrap();
        // Each is a mean of as many numbers as there are, so it is off by some thousandths.
        let powers = [0.0, 1.0, 0.0, 3.0];
        for (power, expected) in (1..).zip(powers) {
            let found = mean(normal.pow(power).unwrap());
            assert!((found - expected).abs() < 0.05, "the mean of power {power} is {found}");
        }
        // Φ(1), Φ(2) and Φ(3).
        for (bound, share) in [(1.0, 0.841345), (2.0, 0.977250), (3.0, 0.998650)] {
            let found = mean(normal.lt(bound).unwrap().to_dtype(DType::F64).unwrap());
            assert!((found - share).abs() < 0.005, "{found} of the numbers are below {bound}");
        }
        let uniform = Tensor::rand(&[count], 11).unwrap().sub(0.5).unwrap();
        let product = mean(normal.mul(&uniform).unwrap());
        assert!(product.abs() < 0.005, "uniform and normal numbers of one seed correlate: {product}");
    }
}

//! Owns the one list of answers that differ from PyTorch's on purpose, each with its reason. An entry that no
//! longer applies to anything in one of its files fails the test of that file.

use zerostride::{Category, DType};

use crate::corpus::Operand;
use crate::findings::{Difference, Finding};
use crate::values::{Values, epsilon, smallest};

/// Findings that are meant to be.
pub(crate) struct Exception {
    /// The files of the corpus in which it is needed.
    pub(crate) files: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) applies: fn(&Finding<'_>) -> bool,
}

pub(crate) static EXCEPTIONS: &[Exception] = &[
    // Dtypes.
    Exception {
        files: "ops_unary ops_binary ops_ternary reductions",
        reason: "u16, u32 and u64 follow the Python array API where PyTorch refuses them or leaves them unpromoted",
        applies: |finding| has(finding, is_wide_unsigned) && !is_element(finding),
    },
    Exception {
        files: "ops_binary ops_scalar",
        reason: "halves with complex numbers, or paired, are c64: there is no complex32",
        applies: |finding| match &finding.difference {
            Difference::Kind { wanted, .. } => wanted.contains("complex32["),
            Difference::Words { wanted_text: text, .. } | Difference::Answered { text, .. } => {
                text.contains("'ComplexHalf'") || text.contains("'BComplex32'")
            }
            _ => false,
        },
    },
    // Refusals.
    Exception {
        files: "ops_scalar",
        reason: "a number is an operand everywhere; PyTorch's argument parser wants a tensor in these places",
        applies: |finding| {
            let wants =
                |text: &str| text.contains("must be Tensor, not") || text.contains("invalid combination");
            is_class(finding, "TypeError") && refusal_text(finding).is_some_and(wants)
        },
    },
    Exception {
        files: "reductions",
        reason: "how a call must look is said in our words; `prod` takes several dimensions",
        applies: |finding| {
            let parser =
                |text: &str| text.contains("must be int, not tuple") || text.contains("positional arguments");
            is_class(finding, "TypeError") && refusal_text(finding).is_some_and(parser)
        },
    },
    Exception {
        files: "ops_scalar ops_ternary",
        reason: "of the kernels that PyTorch has for one operation the refusal names another",
        applies: |finding| {
            let kernel =
                |text: &str| text.starts_with('"').then(|| text.rsplit("\" ").next().map(str::to_owned));
            match &finding.difference {
                Difference::Words { text, wanted_text, .. } => {
                    kernel(wanted_text).is_some_and(|wanted| kernel(text).is_none_or(|ours| ours == wanted))
                }
                _ => false,
            }
        },
    },
    Exception {
        files: "reductions",
        reason: "PyTorch accepts every dtype where there is no element",
        applies: |finding| {
            let empty =
                |operand: &Operand| matches!(operand, Operand::Tensor { shape, .. } if shape.contains(&0));
            matches!(finding.difference, Difference::Refused { .. }) && has(finding, empty)
        },
    },
    Exception {
        files: "reductions",
        reason: "an empty list of dimensions is all of them in `logsumexp` too; PyTorch trips over its own shape",
        applies: |finding| {
            is(finding, "logsumexp") && matches!(finding.difference, Difference::Answered { .. })
        },
    },
    Exception {
        files: "ops_unary",
        reason: "`round` to 0 decimals is `round`, also of integers",
        applies: |finding| is(finding, "round") && matches!(finding.difference, Difference::Answered { .. }),
    },
    Exception {
        files: "ops_binary",
        reason: "`ldexp` takes bool exponents of floats, as it does of everything else in PyTorch",
        applies: |finding| is(finding, "ldexp") && matches!(finding.difference, Difference::Answered { .. }),
    },
    Exception {
        files: "ops_binary",
        reason: "`clamp_min` and `clamp_max` refuse complex numbers as `clamp` does; PyTorch names the kernel of `maximum` or `minimum`",
        applies: |finding| {
            is(finding, "clamp_min clamp_max") && matches!(finding.difference, Difference::Words { .. })
        },
    },
    Exception {
        files: "reductions",
        reason: "`cdist` computes with halves in f32, where PyTorch has no kernel",
        applies: |finding| {
            is(finding, "cdist")
                && refusal_text(finding).is_some_and(|text| text.starts_with("\"cdist\" not implemented"))
        },
    },
    Exception {
        files: "reductions",
        reason: "`rms_norm` refuses sizes in the words of `layer_norm`",
        applies: |finding| is(finding, "rms_norm") && matches!(finding.difference, Difference::Words { .. }),
    },
    // Values that PyTorch computes another way.
    Exception {
        files: "ops_unary",
        reason: "the sign of a zero that `softshrink` gives depends on the length in PyTorch, of `elu` with a negative alpha on the branch, and of `logsigmoid` on an exponential that underflows",
        applies: |finding| {
            is(finding, "softshrink elu logsigmoid")
                && element(finding)
                    .is_some_and(|(ours, torch)| ours.number(0) == 0.0 && torch.number(0) == 0.0)
        },
    },
    Exception {
        files: "ops_unary",
        reason: "PyTorch's exponential in `mish` loses digits among the subnormals",
        applies: |finding| {
            is(finding, "mish")
                && element(finding).is_some_and(|(ours, torch)| {
                    (ours.number(0) - torch.number(0)).abs()
                        <= 128.0 * f64::from(f32::MIN_POSITIVE) * f64::from(f32::EPSILON)
                })
        },
    },
    Exception {
        files: "ops_unary",
        reason: "`tanhshrink` cancels: what is left of two numbers shows the last digit of `tanh`, and of NaN its parts",
        applies: |finding| {
            is(finding, "tanhshrink")
                && element(finding).is_some_and(|(ours, torch)| {
                    parts(ours, torch).all(|(a, b)| {
                        a == b || a.is_nan() || b.is_nan() || (a - b).abs() <= 4.0 * epsilon(ours.dtype)
                    })
                })
        },
    },
    Exception {
        files: "ops_binary ops_scalar",
        reason: "PyTorch multiplies the second complex operand by alpha = 1: parts next to infinities and NaN become NaN, -0 becomes 0",
        applies: |finding| {
            is(finding, "add sub rsub")
                && element(finding).is_some_and(|(ours, torch)| {
                    torch.is_complex() && parts(ours, torch).all(|(a, b)| b.is_nan() || a == b)
                })
        },
    },
    Exception {
        files: "ops_binary ops_scalar ops_ternary",
        reason: "PyTorch contracts a product and a sum into one rounding in vector code, and rounds twice elsewhere; we round every step",
        applies: |finding| {
            let scaled = is(finding, "addcmul addcdiv lerp")
                || is(finding, "add sub rsub") && finding.has_keyword("alpha");
            scaled
                && element(finding).is_some_and(|(ours, torch)| {
                    let overflowed = parts(ours, torch).any(|(a, b)| !a.is_finite() || !b.is_finite());
                    let last = |(a, b): (f64, f64)| (a - b).abs() <= smallest(ours.dtype);
                    overflowed || near(ours, torch, 2.0) || parts(ours, torch).all(last)
                })
        },
    },
    Exception {
        files: "ops_scalar",
        reason: "PyTorch divides a number by a tensor as reciprocal times number, rounded twice; here it is one division",
        applies: |finding| {
            is(finding, "div")
                && matches!(finding.case.operands[0].1, Operand::Number(_))
                && is_element(finding)
        },
    },
    Exception {
        files: "ops_scalar",
        reason: "PyTorch's vector code gives NaN for remainders whose quotient overflows",
        applies: |finding| {
            is(finding, "fmod remainder")
                && element(finding).is_some_and(|(_, torch)| torch.number(0).is_nan())
        },
    },
    Exception {
        files: "ops_unary",
        reason: "the sign of a negated complex zero depends on the length in PyTorch: vector code subtracts from 0",
        applies: |finding| {
            let equal = |(a, b): (f64, f64)| a == b || a.is_nan() && b.is_nan();
            is(finding, "neg") && element(finding).is_some_and(|(ours, torch)| parts(ours, torch).all(equal))
        },
    },
    Exception {
        files: "ops_binary",
        reason: "which of two zeros of different sign is larger depends on the dtype in PyTorch's fmax and fmin",
        applies: |finding| {
            is(finding, "fmax fmin")
                && element(finding)
                    .is_some_and(|(ours, torch)| parts(ours, torch).all(|(a, b)| a == 0.0 && b == 0.0))
        },
    },
    Exception {
        files: "ops_unary",
        reason: "gelu of infinity is infinity; PyTorch's vector code multiplies it by 0",
        applies: |finding| {
            is(finding, "gelu")
                && element(finding)
                    .is_some_and(|(ours, torch)| ours.number(0) == f64::INFINITY && torch.number(0).is_nan())
        },
    },
    Exception {
        files: "ops_unary",
        reason: "logit with eps has no reference; PyTorch's loses digits near 0.5 and rounds every step",
        applies: |finding| {
            let close =
                |dtype| move |(a, b): (f64, f64)| (a - b).abs() <= 4.0 * epsilon(dtype) * b.abs().max(1.0);
            is(finding, "logit")
                && element(finding).is_some_and(|(ours, torch)| parts(ours, torch).all(close(ours.dtype)))
        },
    },
    Exception {
        files: "ops_binary ops_scalar",
        reason: "the angle of a complex power is known to 106 bits: beyond, and where the power is infinite, its direction is noise",
        applies: |finding| {
            let modulus = |values: &Values| values.number(0).hypot(values.number(1));
            is(finding, "pow float_power")
                && wanted(finding).is_some_and(|(ours, wanted)| {
                    ours.is_complex() && {
                        let (a, b) = (modulus(ours), modulus(wanted));
                        a == b || (a - b).abs() <= 8.0 * epsilon(ours.dtype) * b
                    }
                })
        },
    },
    Exception {
        files: "ops_binary",
        reason: "the imaginary part of logaddexp is that of the larger operand, not taken back into (-pi, pi], as PyTorch's in f64",
        applies: |finding| {
            is(finding, "logaddexp")
                && wanted(finding).is_some_and(|(ours, wanted)| {
                    let turns = (ours.number(1) - wanted.number(1)) / std::f64::consts::TAU;
                    (ours.number(0) - wanted.number(0)).abs() <= 1e-6 * wanted.number(0).abs()
                        && (turns - turns.round()).abs() < 1e-6
                })
        },
    },
    Exception {
        files: "ops_unary",
        reason: "softplus with beta has no reference; PyTorch's exponential loses digits among the subnormals",
        applies: |finding| {
            is(finding, "softplus")
                && element(finding).is_some_and(|(ours, torch)| {
                    ours.number(0).abs() < f64::from(f32::MIN_POSITIVE) && near(ours, torch, 2000.0)
                })
        },
    },
    Exception {
        files: "ops_unary",
        reason: "digamma and lgamma lose relative digits next to their roots on the negative axis",
        applies: |finding| {
            is(finding, "digamma lgamma")
                && element(finding)
                    .is_some_and(|(ours, torch)| ours.number(0).abs() < 0.1 && near(ours, torch, 200.0))
        },
    },
    Exception {
        files: "ops_unary",
        reason: "sinc is exactly 0 at integers, where the reference keeps what 400 bits of pi leave over",
        applies: |finding| {
            is(finding, "sinc")
                && element(finding).is_some_and(|(ours, _)| parts(ours, ours).all(|(a, _)| a == 0.0))
        },
    },
    Exception {
        files: "ops_binary",
        reason: "an integral exponent of ldexp scales, whatever it is; PyTorch wraps it to 32 bits, or multiplies by a power that may be infinite",
        applies: |finding| {
            let integral = |operand: &Operand| matches!(operand, Operand::Tensor { values, .. } if values.dtype.category() <= Category::Int);
            is(finding, "ldexp")
                && integral(&finding.case.operands[1].1)
                && element(finding).is_some_and(|(ours, torch)| {
                    ours.number(0).is_finite() && !torch.number(0).is_finite()
                        || ours.number(0) == 0.0
                        || torch.number(0) == 0.0
                })
        },
    },
    Exception {
        files: "ops_binary",
        reason: "PyTorch's ldexp of complex numbers loses digits in its powers of 2, and infinities",
        applies: |finding| {
            is(finding, "ldexp")
                && element(finding).is_some_and(|(ours, torch)| {
                    let distance = |(a, b): (f64, f64)| (a - b).abs();
                    let size: f64 = parts(torch, torch).map(|(part, _)| part.abs()).sum();
                    let close = parts(ours, torch).all(|pair| distance(pair) <= 1e-4 * size);
                    ours.is_complex() && (close || !size.is_finite())
                })
        },
    },
];

fn is_wide_unsigned(operand: &Operand) -> bool {
    matches!(operand, Operand::Tensor { values, .. } if matches!(values.dtype, DType::U16 | DType::U32 | DType::U64))
}

fn has(finding: &Finding<'_>, property: impl Fn(&Operand) -> bool) -> bool {
    finding.case.operands.iter().any(|(_, operand)| property(operand))
}

/// Whether the operation is one of those named.
fn is(finding: &Finding<'_>, names: &str) -> bool {
    names.split_whitespace().any(|name| name == finding.case.op)
}

fn is_element(finding: &Finding<'_>) -> bool {
    matches!(finding.difference, Difference::Element { .. })
}

/// The element that differs: ours and PyTorch's.
fn element<'a>(finding: &'a Finding<'_>) -> Option<(&'a Values, &'a Values)> {
    match &finding.difference {
        Difference::Element { ours, torch, .. } => Some((ours, torch)),
        _ => None,
    }
}

/// The element that differs: ours and the one it was held to.
fn wanted<'a>(finding: &'a Finding<'_>) -> Option<(&'a Values, &'a Values)> {
    match &finding.difference {
        Difference::Element { ours, wanted, .. } => Some((ours, wanted)),
        _ => None,
    }
}

fn parts(a: &Values, b: &Values) -> impl Iterator<Item = (f64, f64)> {
    (0..a.bits.len()).map(|part| (a.number(part), b.number(part)))
}

/// Whether each part is within that many half gaps, relative to itself.
fn near(a: &Values, b: &Values, allowed: f64) -> bool {
    parts(a, b).all(|(x, y)| (x - y).abs() <= allowed * epsilon(a.dtype) * y.abs())
}

fn refusal_text<'a>(finding: &'a Finding<'_>) -> Option<&'a str> {
    match &finding.difference {
        Difference::Words { wanted_text: text, .. } | Difference::Answered { text, .. } => Some(text),
        _ => None,
    }
}

fn is_class(finding: &Finding<'_>, wanted: &str) -> bool {
    match &finding.difference {
        Difference::Words { wanted_class: class, .. } | Difference::Answered { class, .. } => class == wanted,
        _ => false,
    }
}

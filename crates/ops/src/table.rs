//! Owns THE table of operations: every operation's name, signature, domain, result rule and cost, once. All
//! that enumerates operations (inference, kernels, methods, the expression language, the documents, the test
//! matrix) is generated from it. It does not know what an operation computes: that is a body in `kernels`, or
//! a formula in `zerostride`.
//!
//! Columns, left to right:
//! - `Variant`, `name` (PyTorch's), the in-place method or `-`, `[aliases]`, the operator symbol or `""`;
//! - `domain`: the categories that the operation computes in, after promotion (`Domain`);
//! - `result`: how the operands' dtypes give the dtype computed in and the result's (`Rule`);
//! - `effort`, for element-wise operations: the cost per element (`Effort`);
//! - `derivative`: the gradient (`Derivative`); formulas are composed of their operations' gradients;
//! - the name in PyTorch's error: `"abs_cpu" not implemented for 'Bool'`;
//! - the arguments, if they are not just `input` or `input, other`. Operands alone are in PyTorch's notation,
//!   `"input, exponent"`. Otherwise a list, the first being `self` in Rust: each argument by its name in
//!   Rust, its type (`Parameter`), and PyTorch's notation if that is more than the name, as in
//!   `(input, other: operand, alpha: scalar "*, alpha=1")`.
//!
//! Reductions have columns of their own between `result` and `derivative` (`reduction.rs`):
//! - `order`: for which elements the result has the same bits in any order (`Order`);
//! - `equal`: the result for equal elements (`Equal`);
//! - `one`: the result for a single element (`One`);
//! - `(accumulator)`: what is held while elements come, an element or more (`Accumulator`);
//! - `empty`: the result for no elements (`Empty`);
//! - `list`: the meaning of an empty list of dimensions, `all` or `none`.
//!
//! Reductions and formulas have `named` or `last` if PyTorch lets them take a `dtype` to compute in, by its
//! name alone or also by position, after the other arguments; else `-`.

/// Passes the table to `$callback!`, in five sections: `unary`, `binary`, `nary`, `reduce` and `formula`.
/// Tokens after the callback's name come first.
///
/// `unary`, `binary` and `nary` are element-wise and have a body in `kernels`; a `reduce` has an accumulator
/// there; a `formula` consists of other operations.
#[macro_export]
macro_rules! for_each_op {
    ($callback:path $(, $($extra:tt)*)?) => {
        $callback! {
            $($($extra)*)?
            unary {
                /// The absolute value; of a complex number its modulus.
                Abs         abs          abs_          [absolute]   ""  numeric real       simple   rule "abs_cpu";
                /// The inverse cosine, in radians.
                Acos        acos         acos_         [arccos]     ""  any     float      function rule "acos";
                /// The inverse hyperbolic cosine.
                Acosh       acosh        acosh_        [arccosh]    ""  any     float      function rule "acosh";
                /// The angle of a number in the complex plane: 0 or pi for real numbers.
                Angle       angle        -             []           ""  any     float_real function rule "angle";
                /// The inverse sine, in radians.
                Asin        asin         asin_         [arcsin]     ""  any     float      function rule "asin";
                /// The inverse hyperbolic sine.
                Asinh       asinh        asinh_        [arcsinh]    ""  any     float      function rule "asinh";
                /// The inverse tangent, in radians.
                Atan        atan         atan_         [arctan]     ""  any     float      function rule "atan";
                /// The inverse hyperbolic tangent.
                Atanh       atanh        atanh_        [arctanh]    ""  any     float      function rule "atanh";
                /// Every bit inverted; logical not for bool.
                BitwiseNot  bitwise_not  bitwise_not_  []           "~" integral common    simple   none "bitwise_not_cpu";
                /// The smallest integer not below.
                Ceil        ceil         ceil_         []           ""  ordered common     simple   zero "ceil_vml_cpu";
                /// The complex conjugate; real numbers stay.
                ConjPhysical conj_physical conj_physical_ [conj]    ""  any     common     simple   rule "conj_physical";
                /// The cosine of radians.
                Cos         cos          cos_          []           ""  any     float      function rule "cos";
                /// The hyperbolic cosine.
                Cosh        cosh         cosh_         []           ""  any     float      function rule "cosh";
                /// Degrees to radians.
                Deg2rad     deg2rad      deg2rad_      []           ""  real    float      simple   rule "deg2rad";
                /// The logarithmic derivative of the gamma function.
                Digamma     digamma      digamma_      []           ""  real    float      function rule "digamma";
                /// The error function.
                Erf         erf          erf_          []           ""  real    float      function rule "erf_vml_cpu";
                /// The complementary error function, `1 - erf`, without its cancellation.
                Erfc        erfc         erfc_         []           ""  real    float      function rule "erfc_vml_cpu";
                /// The inverse of the error function.
                Erfinv      erfinv       erfinv_       []           ""  real    float      function rule "erfinv_vml_cpu";
                /// e to the power of the operand.
                Exp         exp          exp_          []           ""  any     float      function rule "exp";
                /// 2 to the power of the operand.
                Exp2        exp2         exp2_         []           ""  any     float      function rule "exp2";
                /// `exp - 1`, without its cancellation near 0.
                Expm1       expm1        expm1_        []           ""  any     float      function rule "expm1";
                /// The largest integer not above.
                Floor       floor        floor_        []           ""  ordered common     simple   zero "floor_vml_cpu";
                /// The fraction left by `trunc`; it has the operand's sign.
                Frac        frac         frac_         []           ""  floats  common     simple   rule "frac_cpu";
                /// The mantissa of `frexp`, in [0.5, 1).
                FrexpMantissa frexp_mantissa -         []           ""  floats  common     simple   rule "frexp";
                /// The exponent of `frexp`, as i32.
                FrexpExponent frexp_exponent -         []           ""  floats  int        simple   none "frexp";
                /// The Gaussian error linear unit, `x * Phi(x)`.
                Gelu        gelu         -             []           ""  floats  common     function rule "GeluKernelImpl" (input, approximate: word "*, approximate='none'");
                /// `gelu` by its tanh formula.
                GeluTanh    gelu_tanh    -             []           ""  floats  common     function rule "GeluKernelImpl";
                /// The modified Bessel function of the first kind, order 0.
                I0          i0           i0_           []           ""  real    float      function rule "i0_vml_cpu";
                /// The modified Bessel function of the first kind, order 1: the derivative of `i0`.
                I1          i1           -             []           ""  real    float      function rule "i1_cpu";
                /// The imaginary part.
                Imag        imag         -             []           ""  complexes real     simple   rule "imag";
                /// Whether the operand is neither infinite nor NaN.
                Isfinite    isfinite     -             []           ""  any     bool       simple   none "isfinite";
                /// Whether the operand is infinite.
                Isinf       isinf        -             []           ""  any     bool       simple   none "isinf";
                /// Whether the operand is NaN.
                Isnan       isnan        -             []           ""  any     bool       simple   none "isnan";
                /// Whether the operand is minus infinity.
                Isneginf    isneginf     -             []           ""  real    bool       simple   none "isneginf";
                /// Whether the operand is plus infinity.
                Isposinf    isposinf     -             []           ""  real    bool       simple   none "isposinf";
                /// The logarithm of the absolute value of the gamma function.
                Lgamma      lgamma       lgamma_       []           ""  real    float      function rule "lgamma_vml_cpu";
                /// The natural logarithm.
                Log         log          log_          []           ""  any     float      function rule "log";
                /// The logarithm to base 10.
                Log10       log10        log10_        []           ""  any     float      function rule "log10";
                /// `log(1 + x)`, exact near 0.
                Log1p       log1p        log1p_        []           ""  any     float      function rule "log1p";
                /// The logarithm to base 2.
                Log2        log2         log2_         []           ""  any     float      function rule "log2";
                /// Whether the operand is zero.
                LogicalNot  logical_not  logical_not_  []           ""  any     bool       simple   none "logical_not_cpu";
                /// `log(x / (1 - x))`, the inverse of `sigmoid`; with `eps`, x is first clamped to [eps, 1 -
                /// eps].
                Logit       logit        logit_        []           ""  real    float      function rule "logit_cpu" (input, eps: optional_float "eps=None");
                /// The operand with the other sign.
                Neg         neg          neg_          [negative]   "-" numeric common     simple   rule "neg_cpu";
                /// The operand itself.
                Positive    positive     -             []           "+" numeric common     simple   rule "positive";
                /// Radians to degrees.
                Rad2deg     rad2deg      rad2deg_      []           ""  real    float      simple   rule "rad2deg";
                /// The real part.
                Real        real         -             []           ""  any     real       simple   rule "real";
                /// `1 / x`.
                Reciprocal  reciprocal   reciprocal_   []           ""  any     float      division rule "reciprocal";
                /// The operand where it is positive, else 0.
                Relu        relu         relu_         []           ""  ordered common     simple   rule "relu";
                /// The nearest integer, halves to the even one; with `decimals`, the nearest multiple of
                /// 10^-decimals.
                Round       round        round_        []           ""  ordered common     simple   zero "round_vml_cpu" (input, decimals: int "decimals=0");
                /// `1 / sqrt(x)`.
                Rsqrt       rsqrt        rsqrt_        []           ""  any     float      division rule "rsqrt";
                /// The sign; of a complex number, the number divided by its modulus.
                Sgn         sgn          sgn_          []           ""  any     common     simple   rule "sign_cpu";
                /// `1 / (1 + exp(-x))`.
                Sigmoid     sigmoid      sigmoid_      [expit]      ""  any     float      function rule "sigmoid";
                /// -1, 0 or 1.
                Sign        sign         sign_         []           ""  real    common     simple   zero "sign_cpu";
                /// Whether the sign bit is set: also for -0.
                Signbit     signbit      -             []           ""  real    bool       simple   none "signbit";
                /// `x * sigmoid(x)`.
                Silu        silu         -             []           ""  inexact common     function rule "silu_cpu";
                /// The sine of radians.
                Sin         sin          sin_          []           ""  any     float      function rule "sin";
                /// `sin(pi x) / (pi x)`, 1 at 0.
                Sinc        sinc         sinc_         []           ""  any     float      function rule "sinc";
                /// The hyperbolic sine.
                Sinh        sinh         sinh_         []           ""  any     float      function rule "sinh";
                /// The square root.
                Sqrt        sqrt         sqrt_         []           ""  any     float      division rule "sqrt";
                /// The operand times itself.
                Square      square       square_       []           ""  numeric bool_to_int simple   rule "pow";
                /// The tangent of radians.
                Tan         tan          tan_          []           ""  any     float      function rule "tan";
                /// The hyperbolic tangent.
                Tanh        tanh         tanh_         []           ""  any     float      function rule "tanh";
                /// The second logarithmic derivative of the gamma function: the derivative of `digamma`.
                Trigamma    trigamma     -             []           ""  real    float      function none "trigamma";
                /// The integer part, towards zero.
                Trunc       trunc        trunc_        [fix]        ""  ordered common     simple   zero "trunc_vml_cpu";
            }
            binary {
                /// The sum; logical or for bool. With `alpha`, `input + alpha * other`.
                Add         add          add_          []           "+" any     common     simple   rule "add_stub" (input, other: operand, alpha: scalar "*, alpha=1") [commutative];
                /// The angle of the point (other, input), in radians.
                Atan2       atan2        atan2_        [arctan2]    ""  real    float      function rule "atan2_cpu";
                /// Bitwise and; logical and for bool.
                BitwiseAnd  bitwise_and  bitwise_and_  []           "&" integral common    simple   none "bitwise_and_cpu" [commutative];
                /// Bits shifted left; 0 for a count outside the width.
                BitwiseLeftShift bitwise_left_shift bitwise_left_shift_ [] "<<" integer common simple   none "lshift_cpu";
                /// Bitwise or; logical or for bool.
                BitwiseOr   bitwise_or   bitwise_or_   []           "|" integral common    simple   none "bitwise_or_cpu" [commutative];
                /// Bits shifted right, keeping the sign; 0 or -1 for a count outside the width.
                BitwiseRightShift bitwise_right_shift bitwise_right_shift_ [] ">>" integer common simple   none "rshift_cpu";
                /// Bitwise exclusive or.
                BitwiseXor  bitwise_xor  bitwise_xor_  []           "^" integral common    simple   none "bitwise_xor_cpu" [commutative];
                /// The complex number with these parts.
                Complex     complex      -             []           ""  floats  complex    simple   rule "complex" "real, imag";
                /// The magnitude of `input` with the sign of `other`.
                Copysign    copysign     copysign_     []           ""  real    float      simple   rule "copysign_cpu";
                /// True division; with `rounding_mode`, `"floor"` or `"trunc"` division.
                Div         div          div_          [divide true_divide] "/" any float  division rule "div_true_cpu" (input, other: operand, rounding_mode: word "*, rounding_mode=None");
                /// Division rounded towards zero.
                DivTrunc    div_trunc    -             []           ""  ordered common     division zero "div_trunc_cpu";
                /// Whether the operands are equal.
                Eq          eq           eq_           []           "==" any    bool       simple   none "eq_cpu" [commutative];
                /// Division rounded down.
                FloorDivide floor_divide floor_divide_ []           "//" ordered common    function zero "div_floor_cpu";
                /// The larger operand, NaN only if both are.
                Fmax        fmax         -             []           ""  real    common     simple   rule "fmax" [commutative];
                /// The smaller operand, NaN only if both are.
                Fmin        fmin         -             []           ""  real    common     simple   rule "fmin" [commutative];
                /// The remainder of truncated division: it has the sign of `input`.
                Fmod        fmod         fmod_         []           ""  ordered common     function rule "fmod_cpu";
                /// The greatest common divisor, not negative.
                Gcd         gcd          gcd_          []           ""  integer common     function none "gcd_cpu" [commutative];
                /// Whether `input` is at least `other`.
                Ge          ge           ge_           [greater_equal] ">=" real bool      simple   none "ge_cpu";
                /// Whether `input` is greater than `other`.
                Gt          gt           gt_           [greater]    ">" real    bool       simple   none "gt_cpu";
                /// 0 for a negative operand, 1 for a positive one, `values` for 0.
                Heaviside   heaviside    heaviside_    []           ""  real    common     simple   none "heaviside_cpu" "input, values";
                /// `sqrt(input^2 + other^2)` without overflow.
                Hypot       hypot        hypot_        []           ""  floats  common     function rule "hypot_cpu" [commutative];
                /// The least common multiple, not negative; it wraps.
                Lcm         lcm          lcm_          []           ""  integer common     function none "lcm_cpu" [commutative];
                /// `input * 2^other`, rounded once.
                Ldexp       ldexp        ldexp_       []           ""  any     float      function rule "ldexp";
                /// Whether `input` is at most `other`.
                Le          le           le_           [less_equal] "<=" real   bool       simple   none "le_cpu";
                /// `log(exp(input) + exp(other))` without overflow.
                Logaddexp   logaddexp    -             []           ""  inexact common     function rule "logaddexp_cpu" [commutative];
                /// `log2(2^input + 2^other)` without overflow.
                Logaddexp2  logaddexp2   -             []           ""  floats  common     function rule "logaddexp2_cpu" [commutative];
                /// Whether both operands are nonzero.
                LogicalAnd  logical_and  logical_and_  []           "and" any   bool       simple   none "logical_and_cpu" [commutative];
                /// Whether an operand is nonzero.
                LogicalOr   logical_or   logical_or_   []           "or" any    bool       simple   none "logical_or_cpu" [commutative];
                /// Whether exactly one operand is nonzero.
                LogicalXor  logical_xor  logical_xor_  []           ""  any     bool       simple   none "logical_xor_cpu" [commutative];
                /// Whether `input` is less than `other`.
                Lt          lt           lt_           [less]       "<" real    bool       simple   none "lt_cpu";
                /// The larger operand, NaN if one is.
                Maximum     maximum      -             []           ""  real    common     simple   rule "maximum" [commutative];
                /// The smaller operand, NaN if one is.
                Minimum     minimum      -             []           ""  real    common     simple   rule "minimum" [commutative];
                /// The product; logical and for bool.
                Mul         mul          mul_          [multiply]   "*" any     common     simple   rule "mul_cpu" [commutative];
                /// Whether the operands differ.
                Ne          ne           ne_           [not_equal]  "!=" any    bool       simple   none "ne_cpu" [commutative];
                /// The next float after `input` towards `other`.
                Nextafter   nextafter    nextafter_    []           ""  floats  common     simple   rule "nextafter_cpu";
                /// The complex number with this modulus and angle.
                Polar       polar        -             []           ""  floats  complex    function rule "polar" "abs, angle";
                /// `input` to the power `exponent`.
                Pow         pow          pow_          []           "**" numeric common    function rule "pow" "input, exponent";
                /// The remainder of floor division: it has the sign of `other`.
                Remainder   remainder    remainder_    []           "%" ordered common     function rule "remainder_cpu";
                /// The difference. With `alpha`, `input - alpha * other`.
                Sub         sub          sub_          [subtract]   "-" numeric common     simple   rule "add_stub" (input, other: operand, alpha: scalar "*, alpha=1");
                /// `input * log(other)`, 0 where `input` is 0 and `other` is not NaN.
                Xlogy       xlogy        xlogy_        []           ""  real    float      function rule "xlogy_cpu";
            }
            nary {
                /// `input + weight * (end - input)`, exact at both ends.
                Lerp        lerp         lerp_         []           ""  inexact common     simple   rule "lerp_kernel_tensor" (input, end: operand, weight: operand);
                /// NaN and infinities replaced; by default with 0 and the dtype's extremes.
                NanToNum    nan_to_num   nan_to_num_   []           ""  any     common     simple   rule "nan_to_num" (input, nan: float_or_zero "nan=0.0", posinf: optional_float "posinf=None", neginf: optional_float "neginf=None");
                /// `round` to a number of decimals.
                RoundDecimals round_decimals -         []           ""  floats  common     function zero "round_cpu" (input, decimals: int);
                /// `log(1 + exp(beta x)) / beta`, x itself where `beta x` is over `threshold`.
                Softplus    softplus     -             []           ""  floats  common     function rule "softplus_cpu" (input, beta: float "beta=1", threshold: float "threshold=20");
                /// `input` where the bool `condition` holds, else `other`.
                Where       where_       -             []           ""  any     common     simple   rule "where" "condition, input, other";
            }
            reduce {
                /// The sum; integers and bools add up as i64.
                Sum     sum     any      sum     exact  multiple  from_zero  (Add zero)         value       all   rule  named  "sum_cpu" (input, dims: dims "dim=None, keepdim=False");
                /// The product; integers and bools multiply as i64.
                Prod    prod    any      sum     exact  other     real       (Mul one)          value       all   rule  named  "prod_cpu" (input, dims: dims "dim=None, keepdim=False");
                /// The largest element, NaN if one is.
                Amax    amax    real     common  exact  same      element    (Maximum lowest)   no_extreme  all   rule  -      "max_values_cpu" (input, dims: dims "dim=(), keepdim=False");
                /// The smallest element, NaN if one is.
                Amin    amin    real     common  exact  same      element    (Minimum highest)  no_extreme  all   rule  -      "min_values_cpu" (input, dims: dims "dim=(), keepdim=False");
                /// The index of the first largest element, the first NaN's if there is one.
                Argmax  argmax  ordered  index   never  other     other      (Ge lowest place)  no_place    all   none  -      "argmax_cpu" (input, dims: dims "dim=None, keepdim=False");
                /// The index of the first smallest element, the first NaN's if there is one.
                Argmin  argmin  ordered  index   never  other     other      (Le highest place) no_place    all   none  -      "argmin_cpu" (input, dims: dims "dim=None, keepdim=False");
                /// Whether all elements are nonzero; u8 stays u8.
                All     all     any      truth   any    same      truth      (Minimum one)      value       none  none  -      "all" (input, dims: dims "dim=None, keepdim=False");
                /// Whether some element is nonzero; u8 stays u8.
                Any     any     any      truth   any    same      truth      (Maximum zero)     value       none  none  -      "any" (input, dims: dims "dim=None, keepdim=False");
                /// The variance, with `n - correction` degrees of freedom; `unbiased` is `correction` of 1
                /// or 0.
                Var     var     inexact  real    never  other     other      (moments)          value       all   rule  -      "var" (input, dims: spread "dim=None, unbiased=None, keepdim=False, *, correction=1");
            }
            formula {
                /// `input + value * tensor1 / tensor2`.
                Addcdiv     addcdiv      addcdiv_ inexact common -      "addcdiv_cpu_out" (input, tensor1: operand, tensor2: operand, value: scalar "*, value=1");
                /// `input + value * tensor1 * tensor2`.
                Addcmul     addcmul      addcmul_ numeric common -      "addcmul_cpu_out" (input, tensor1: operand, tensor2: operand, value: scalar "*, value=1");
                /// `input` held between `min` and `max`; NaN if an operand is.
                Clamp       clamp        clamp_   ordered common -      "clamp_cpu"  (input, min: optional "min=None", max: optional "max=None");
                /// `input`, at most `max`; NaN if an operand is.
                ClampMax    clamp_max    clamp_max_ real  common -      "clamp_max_scalar_cpu" (input, max: operand);
                /// `input`, at least `min`; NaN if an operand is.
                ClampMin    clamp_min    clamp_min_ real  common -      "clamp_min_scalar_cpu" (input, min: operand);
                /// `input` where it is positive, else `alpha * (exp(input / alpha) - 1)`.
                Celu        celu         -        floats  common -      "elu_cpu"    (input, alpha: float "alpha=1.0");
                /// `input` where it is positive, else `alpha * (exp(input) - 1)`.
                Elu         elu          -        floats  common -      "elu_cpu"    (input, alpha: float "alpha=1.0");
                /// `pow` carried out in f64 or c128.
                FloatPower  float_power  float_power_ any double -      "float_power" (input, exponent: operand);
                /// `input`, 0 between `-lambd` and `lambd`.
                Hardshrink  hardshrink   -        floats  common -      "hardshrink_cpu" (input, lambd: float "lambd=0.5");
                /// `sigmoid` in three straight pieces: `(input + 3) / 6` between -3 and 3.
                Hardsigmoid hardsigmoid  -        floats  common -      "hardsigmoid_cpu" (input);
                /// `input * hardsigmoid(input)`.
                Hardswish   hardswish    -        floats  common -      "hardswish_cpu" (input);
                /// `input` held between `min_val` and `max_val`, where the derivative is 0.
                Hardtanh    hardtanh     -        ordered common -      "clamp_cpu"  (input, min_val: float "min_val=-1.0", max_val: float "max_val=1.0");
                /// Whether `|input - other| <= atol + rtol * |other|`.
                Isclose     isclose      -        any     bool   -      "isclose"    (input, other: operand, rtol: float "rtol=1e-05", atol: float "atol=1e-08", equal_nan: flag "equal_nan=False");
                /// `input` where it is positive, else `negative_slope * input`.
                LeakyRelu   leaky_relu   -        floats  common -      "leaky_relu_cpu" (input, negative_slope: float "negative_slope=0.01");
                /// The logarithm of `sigmoid`, without its cancellation.
                Logsigmoid  logsigmoid   -        floats  common -      "log_sigmoid_cpu" (input);
                /// `input` with `value` where `mask` holds.
                MaskedFill  masked_fill  masked_fill_ any common -      "masked_fill" (input, mask: operand, value: operand);
                /// The arithmetic mean.
                Mean        mean         -        inexact common named  "mean"       (input, dims: dims "dim=None, keepdim=False");
                /// `input * tanh(softplus(input))`.
                Mish        mish         -        floats  common -      "mish_cpu"   (input);
                /// `input` held between 0 and 6, where the derivative is 0.
                Relu6       relu6        -        ordered common -      "clamp_cpu"  (input);
                /// `scale * elu(input, alpha)` with the two numbers that keep mean 0 and variance 1.
                Selu        selu         -        floats  common -      "elu_cpu"    (input);
                /// `input` moved by `lambd` towards 0, and 0 between `-lambd` and `lambd`.
                Softshrink  softshrink   -        floats  common -      "softshrink_check" (input, lambd: float "lambd=0.5");
                /// `input / (1 + |input|)`.
                Softsign    softsign     -        numeric float  -      "abs_cpu"    (input);
                /// `input - tanh(input)`.
                Tanhshrink  tanhshrink   -        numeric float  -      "tanh"       (input);
                /// `input` where it is greater than `threshold`, else `value`.
                Threshold   threshold    -        ordered common -      "threshold_cpu" (input, threshold: scalar, value: scalar);
                /// The standard deviation: the root of the variance, with the arguments of `var`.
                Std         std          -        inexact real   -      "std"        (input, dims: spread "dim=None, unbiased=None, keepdim=False, *, correction=1");
                /// `log(sum(exp(input)))` without overflow.
                Logsumexp   logsumexp    -        any     float  -      "logsumexp"  (input, dims: dims "dim, keepdim=False");
                /// The difference the other way round: `other - alpha * input`.
                Rsub        rsub         -        numeric common -      "add_stub"   (input, other: operand, alpha: scalar "*, alpha=1");
                /// `exp(input) / sum(exp(input))` along `dim`, without overflow.
                Softmax     softmax      -        floats  common last   "softmax_lastdim_kernel_impl" (input, dim: dim);
                /// The logarithm of `softmax`, without its cancellation.
                LogSoftmax  log_softmax  -        floats  common last   "log_softmax_lastdim_kernel_impl" (input, dim: dim);
                /// The mean of the elements that are not NaN.
                ///
                /// ```
                /// use zerostride::{Expr, tensor};
                /// let x = tensor![[1.0, f32::NAN], [2.0, 3.0]];
                /// assert_eq!(x.nanmean(..)?.item::<f32>()?, 2.0);
                /// assert_eq!(Expr::from(&x).nanmean(1).eval()?.to_vec::<f32>()?, [1.0, 2.5]);
                /// # Ok::<(), zerostride::Error>(())
                /// ```
                Nanmean     nanmean      -        floats common named  "nanmean"    (input, dims: dims "dim=None, keepdim=False");
                /// The sum of the elements that are not NaN.
                ///
                /// ```
                /// use zerostride::{Expr, tensor};
                /// let x = tensor![[1.0, f32::NAN], [2.0, 3.0]];
                /// assert_eq!(x.nansum(1)?.to_vec::<f32>()?, [1.0, 5.0]);
                /// assert_eq!(Expr::from(&x).nansum(..).eval()?.item::<f32>()?, 6.0);
                /// # Ok::<(), zerostride::Error>(())
                /// ```
                Nansum      nansum       -        real    sum    named  "nansum"     (input, dims: dims "dim=None, keepdim=False");
                /// The vector norm of order `p`.
                Norm        norm         -        inexact real   named  "norm"       (input, p: order "p=2", dims: dims "dim=None, keepdim=False");
                /// `input` divided by its norm of order `p` along a dimension, or by `eps` if that is larger.
                Normalize   normalize    -        inexact common -      "normalize"  (input, p: float "p=2.0", dim: dim "dim=1", eps: float "eps=1e-12");
                /// The cosine of the angle between vectors along a dimension; lengths are at least `eps`.
                CosineSimilarity cosine_similarity - floats common -    "cosine_similarity" (x1, x2: operand, dim: dim "dim=1", eps: float "eps=1e-08");
                /// The norm of order `p` of `x1 - x2 + eps` along the last dimension.
                PairwiseDistance pairwise_distance - inexact real -     "pairwise_distance" (x1, x2: operand, p: float "p=2.0", eps: float "eps=1e-06", keepdim: flag "keepdim=False");
                /// The distance of order `p` of every row of `x1` and every row of `x2`; batches broadcast.
                Cdist       cdist        -        floats  common -      "cdist"      (x1, x2: operand, p: float "p=2.0");
                /// `(input - mean) / sqrt(var + eps) * weight + bias` along the last dimensions.
                LayerNorm   layer_norm   -        floats  common -      "LayerNormKernelImpl" (input, normalized_shape: sizes, weight: optional "weight=None", bias: optional "bias=None", eps: float "eps=1e-05");
                /// `input / sqrt(mean(input^2) + eps) * weight` along the last dimensions.
                RmsNorm     rms_norm     -        inexact common -      "rms_norm"   (input, normalized_shape: sizes, weight: optional "weight=None", eps: optional_float "eps=None");
            }
        }
    };
}

//! Owns `Explanation`, all facts about one broadcast, computed once and then rendered. It does not know how
//! anything is printed (`text/`, `json.rs`) nor how repairs are found (`repair/`).

use zerostride_ops::{Bucket, Class as OpClass, DType, Op, Typed, result_type};
use zerostride_shape::{Broadcast, Class, Classes, Shape, ShapeError, Size, check_in_place};

use crate::operand::{Operand, names};
use crate::reading::Reading;
use crate::repair::{Problem, Repair};

/// What is done with the operands, and the limit on the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The operation, for the headline, the result's dtype and the calls of repairs.
    pub op: Option<Op>,
    /// Whether the first operand is written to, and therefore is never stretched.
    pub in_place: bool,
    /// The bytes above which a result is a [`Class::BlowUp`]; 1 GiB unless set.
    pub max_bytes: u128,
    /// The elements of the result, in row-major order, as they are printed beside the operands' values.
    pub result: Option<Vec<String>>,
    /// What combines dimensions of the broadcast, as a matrix product sums up products.
    pub reduction: Option<Reduction>,
    /// Whether bytes are told, which sizes that stand for others do not have.
    pub has_bytes: bool,
    /// The width of the picture in pixels, which is more only where something does not fit; 720 unless set,
    /// as wide as a notebook's cell.
    pub width: u32,
    /// How all of it is written, such as `x @ y`; made of the operation and the names unless set.
    pub expression: Option<String>,
}

/// A reduction of a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The operation, such as the sum.
    pub op: Op,
    /// The dimensions of the broadcast that it combines, in ascending order; others than it has are ignored.
    pub dims: Vec<usize>,
    /// Whether they stay, with size 1.
    pub keepdim: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            op: None,
            in_place: false,
            max_bytes: 1 << 30,
            result: None,
            reduction: None,
            has_bytes: true,
            width: 720,
            expression: None,
        }
    }
}

/// A broadcast or a failed one, with all facts about it.
///
/// ```
/// use zerostride_explain::{Explanation, Operand, Options};
///
/// let operands = vec![Operand::new(&[1, 3, 1]), Operand::new(&[3, 1, 7])];
/// let explanation = Explanation::new(operands, Options { in_place: true, ..Options::default() });
/// assert_eq!(
///     explanation.error().unwrap().to_string(),
///     "output with shape [1, 3, 1] doesn't match the broadcast shape [3, 3, 7]"
/// );
/// assert_eq!(explanation.repairs()[0].call, "a.expand(3, 3, 7).clone()");
/// ```
#[derive(Clone, Debug)]
pub struct Explanation {
    operands: Vec<Operand>,
    names: Vec<String>,
    options: Options,
    outcome: Result<Success, Failure>,
}

#[derive(Clone, Debug)]
struct Success {
    broadcast: Broadcast,
    readings: Vec<Reading>,
    result_dtype: DType,
    result_bytes: u128,
    classes: Vec<Class>,
    alternatives: Vec<Repair>,
}

#[derive(Clone, Debug)]
struct Failure {
    error: ShapeError,
    repairs: Vec<Repair>,
}

impl Explanation {
    /// Explains the broadcast of `operands`, or why there is none.
    ///
    /// Shapes: any; those that do not broadcast, are too large or have too many dimensions are explained as
    /// errors.
    pub fn new(operands: Vec<Operand>, options: Options) -> Explanation {
        let names = names(&operands);
        let shapes: Vec<&[Size]> = operands.iter().map(|operand| &*operand.shape).collect();
        let problem = Problem {
            shapes: &shapes,
            names: &names,
            op: options.op,
            in_place: options.in_place,
            same_dtype: operands.windows(2).all(|pair| pair[0].counted_dtype() == pair[1].counted_dtype()),
        };
        let outcome = match examine(&operands, &shapes, &options) {
            Ok(success) if success.classes.contains(&Class::MutualStretch) && options.reduction.is_none() => {
                let alternatives = problem.alternatives(success.broadcast.shape());
                Ok(Success { alternatives, ..success })
            }
            Ok(success) => Ok(success),
            Err(error) => Err(Failure { repairs: problem.repairs(), error }),
        };
        Explanation { names, outcome, operands, options }
    }

    /// Explains an error: its operands under generated names, what does not fit, what would repair it. `None`
    /// for an error that is not about broadcasting.
    ///
    /// A program that knows its operands, for instance their names, should rather pass them to
    /// [`Explanation::new`].
    ///
    /// ```
    /// use zerostride_explain::{Explanation, Options};
    /// use zerostride_shape::broadcast_shape;
    ///
    /// let error = broadcast_shape(&[&[32, 10], &[32]]).unwrap_err();
    /// let explanation = Explanation::of_error(&error, Options::default()).unwrap();
    /// assert_eq!(explanation.error(), Some(&error));
    /// assert_eq!(explanation.repairs()[0].call, "b.unsqueeze(-1)");
    /// ```
    pub fn of_error(error: &ShapeError, options: Options) -> Option<Explanation> {
        let in_place = match error {
            ShapeError::Incompatible { .. } | ShapeError::NotBroadcastable { .. } => options.in_place,
            ShapeError::InPlace { .. } => true,
            _ => return None,
        };
        let operands = error.diagnostic().shapes.iter().map(|shape| Operand::new(shape)).collect();
        Some(Explanation::new(operands, Options { in_place, ..options }))
    }

    /// The operands, as given.
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// The names of the operands, generated for those without one.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What is done with the operands.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The broadcast, if there is one.
    pub fn broadcast(&self) -> Option<&Broadcast> {
        self.outcome.as_ref().ok().map(|success| &success.broadcast)
    }

    /// The shape of the broadcast, if there is one.
    pub fn shape(&self) -> Option<&Shape> {
        self.broadcast().map(Broadcast::shape)
    }

    /// The sizes of the result, if there is one: those of the broadcast that no reduction combines.
    ///
    /// ```
    /// use zerostride_explain::{Explanation, Operand, Options, Reduction};
    /// use zerostride_ops::Op;
    ///
    /// // A matrix product of (2, 3) and (3, 4): products of all pairs, then sums over what both have.
    /// let operands = vec![Operand::new(&[2, 3, 1]), Operand::new(&[3, 4])];
    /// let reduction = Some(Reduction { op: Op::Sum, dims: vec![1], keepdim: false });
    /// let product = Explanation::new(operands, Options { op: Some(Op::Mul), reduction, ..Options::default() });
    /// assert_eq!(*product.shape().unwrap(), [2, 3, 4]);
    /// assert_eq!(product.result_sizes().unwrap(), [2, 4]);
    /// ```
    pub fn result_sizes(&self) -> Option<Vec<Size>> {
        let shape = self.shape()?;
        let Some(Reduction { dims, keepdim, .. }) = &self.options.reduction else {
            return Some(shape.to_vec());
        };
        let left = shape.iter().enumerate().filter_map(|(dim, &size)| match dims.contains(&dim) {
            true => keepdim.then_some(1),
            false => Some(size),
        });
        Some(left.collect())
    }

    /// The dtype of the broadcast, if there is one: in place that of the target, else the operation's if it
    /// is known, else the dtype that the operands promote to. Unknown dtypes count as the default float.
    pub fn result_dtype(&self) -> Option<DType> {
        self.outcome.as_ref().ok().map(|success| success.result_dtype)
    }

    /// The bytes of the result, if there is one, in [`Explanation::result_dtype`].
    pub fn result_bytes(&self) -> Option<u128> {
        self.outcome.as_ref().ok().map(|success| success.result_bytes)
    }

    /// How each operand is read; empty if there is no broadcast.
    pub fn readings(&self) -> &[Reading] {
        self.outcome.as_ref().map_or(&[], |success| &success.readings)
    }

    /// All classes that apply; none if there is no broadcast.
    pub fn classes(&self) -> &[Class] {
        self.outcome.as_ref().map_or(&[], |success| &success.classes)
    }

    /// Why there is no broadcast.
    pub fn error(&self) -> Option<&ShapeError> {
        self.outcome.as_ref().err().map(|failure| &failure.error)
    }

    /// What would make the operands broadcast, the best first; empty if they do, or if nothing is known to
    /// help.
    pub fn repairs(&self) -> &[Repair] {
        self.outcome.as_ref().err().map_or(&[], |failure| &failure.repairs)
    }

    /// The explanation after one of its repairs or alternatives; the operand's name is the text of the
    /// repair.
    ///
    /// Elements are not kept, since a repair may move them.
    ///
    /// ```
    /// use zerostride_explain::{Explanation, Operand, Options};
    ///
    /// let refused = Explanation::new(vec![Operand::new(&[32, 10]), Operand::new(&[32])], Options::default());
    /// let repaired = refused.repaired(&refused.repairs()[0]);
    /// assert_eq!(repaired.names(), ["a", "b.unsqueeze(-1)"]);
    /// assert_eq!(*repaired.shape().unwrap(), [32, 10]);
    /// ```
    #[must_use]
    pub fn repaired(&self, repair: &Repair) -> Explanation {
        let mut operands: Vec<Operand> =
            self.operands.iter().map(|operand| operand.clone().without_values()).collect();
        for (operand, name) in operands.iter_mut().zip(&self.names) {
            operand.name = Some(name.clone());
        }
        // A repair that changes no shape is another operation, with its own result.
        let is_other_operation = operands[repair.operand].shape == *repair.view;
        if !is_other_operation {
            operands[repair.operand].name = Some(repair.call.clone());
            operands[repair.operand].shape = repair.view.to_vec();
        }
        let in_place = self.options.in_place && !is_other_operation;
        Explanation::new(operands, Options { in_place, result: None, ..self.options.clone() })
    }

    /// For a [`Class::MutualStretch`], what would make the operands combine element by element instead;
    /// searched for at most 4 operands of at most 8 dimensions.
    pub fn alternatives(&self) -> &[Repair] {
        self.outcome.as_ref().map_or(&[], |success| &success.alternatives)
    }
}

fn examine(operands: &[Operand], shapes: &[&[Size]], options: &Options) -> Result<Success, ShapeError> {
    let broadcast = Broadcast::new(shapes)?;
    if let (true, Some(target)) = (options.in_place, shapes.first()) {
        check_in_place(target, broadcast.shape())?;
    }
    let reading = |(i, operand)| Reading::new(&broadcast, i, operand);
    let readings = operands.iter().enumerate().map(reading).collect::<Result<_, _>>()?;
    let result_dtype = result_dtype(operands, options);
    let result_bytes = broadcast.shape().numel() as u128 * result_dtype.item_size() as u128;
    let classes = Classes::of(broadcast.shape(), shapes)
        .with(Class::BlowUp, result_bytes > options.max_bytes)
        .iter()
        .collect();
    Ok(Success { readings, classes, result_dtype, result_bytes, alternatives: Vec::new(), broadcast })
}

/// See [`Explanation::result_dtype`]. If the operation refuses the operands, the dtype of the first.
fn result_dtype(operands: &[Operand], options: &Options) -> DType {
    let typed = |operand: &Operand| Typed {
        dtype: operand.counted_dtype(),
        bucket: if operand.shape.is_empty() { Bucket::ZeroDim } else { Bucket::Dimensioned },
    };
    let typed: Vec<Typed> = operands.iter().map(typed).collect();
    let Some(first) = typed.first() else { return DType::DEFAULT_FLOAT };
    if options.in_place {
        return first.dtype;
    }
    let inferred = match options.op {
        Some(op) if op.info().class == OpClass::Binary && typed.len() == 2 => {
            op.infer(&typed).ok().map(|inferred| inferred.result)
        }
        _ => None,
    };
    inferred.or_else(|| result_type(&typed).ok()).unwrap_or(first.dtype)
}

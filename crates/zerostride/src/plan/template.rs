//! Owns `Template`: a plan that waits for operands. It does not know how a plan is made or run.

use std::collections::HashMap;
use std::sync::Arc;

use zerostride_ops::DType;
use zerostride_shape::{ErrorClass, Layout};

use super::{Leaf, Plan};
use crate::{Error, Result, Tensor};

/// A plan without its operands, to be run on others of the same dtypes, shapes and strides.
///
/// ```
/// use zerostride::{Expr, tensor};
/// let (a, b) = (tensor![1.0, 2.0], tensor![[10.0], [20.0]]);
/// let template = (Expr::from(&a) * &b).plan()?.template(&[&a, &b]);
/// let (c, d) = (tensor![3.0, 4.0], tensor![[1.0], [2.0]]);
/// assert_eq!(template.run(&[&c, &d])?.to_vec::<f32>()?, [3.0, 4.0, 6.0, 8.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    /// The plan, whose operands are only those that stay.
    plan: Plan,
    /// For each operand of the plan, where it comes from.
    operands: Vec<Origin>,
    /// The dtypes and layouts that operands must have.
    expected: Vec<(DType, Layout)>,
    /// Of operands that are the same tensor, each later one with the first.
    twins: Vec<(usize, usize)>,
}

#[derive(Clone, Debug)]
enum Origin {
    /// The operand that is given in this place.
    Given(usize),
    /// The one that the plan was made with.
    Kept(Leaf),
}

/// Whether two operands have the same elements.
fn same(one: &Tensor, other: &Tensor) -> bool {
    Leaf::is_same((one, None), (other, None))
}

/// Equal for operands that have the same elements.
fn identity(tensor: &Tensor) -> (usize, DType, &Layout) {
    (tensor.storage().address(), tensor.dtype(), tensor.layout())
}

impl Plan {
    /// The plan with these of its operands taken out; others stay part of it, and are read as they are when
    /// it runs.
    pub fn template(mut self, operands: &[&Tensor]) -> Template {
        let (mut firsts, mut twins) = (HashMap::new(), Vec::new());
        for (place, operand) in operands.iter().enumerate() {
            let first = *firsts.entry(identity(operand)).or_insert(place);
            if first != place {
                twins.push((place, first));
            }
        }
        let origin = |leaf: Leaf| match firsts.get(&identity(&leaf.tensor)) {
            Some(&place) => Origin::Given(place),
            None => Origin::Kept(Leaf { version: None, ..leaf }),
        };
        let origins = std::mem::take(&mut self.leaves).into_iter().map(origin).collect();
        self.roots = Vec::new();
        let expected = operands.iter().map(|operand| (operand.dtype(), operand.layout().clone())).collect();
        Template { plan: self, operands: origins, expected, twins }
    }
}

impl Template {
    /// The elements that all passes of the plan visit together.
    pub fn visits(&self) -> usize {
        self.plan.visits()
    }

    /// The plan on operands, each of the dtype, shape and strides of the one whose place it takes; where it
    /// begins in its storage does not matter.
    ///
    /// # Errors
    /// An operand is of another dtype, shape or strides, operands are two tensors that were one, or one of
    /// the plan's own is not in memory.
    pub(crate) fn on(&self, operands: &[&Tensor]) -> Result<Plan> {
        let fits = |(operand, (dtype, layout)): (&&Tensor, &(DType, Layout))| {
            operand.dtype() == *dtype
                && (operand.shape(), operand.strides()) == (layout.shape(), layout.strides())
        };
        let fits = operands.len() == self.expected.len() && operands.iter().zip(&self.expected).all(fits);
        if !fits || !self.twins.iter().all(|&(later, first)| same(operands[later], operands[first])) {
            let message = "the operands are not those that the plan is for".to_owned();
            return Err(Error::Argument { class: ErrorClass::Type, message });
        }
        let leaf = |origin: &Origin| match origin {
            Origin::Given(place) => {
                let (tensor, (_, planned)) = (operands[*place], &self.expected[*place]);
                // Without elements an offset says nothing.
                let moved = if tensor.numel() == 0 { 0 } else { planned.offset() - tensor.layout().offset() };
                Ok(Leaf { moved, ..Leaf::new(tensor, None) })
            }
            Origin::Kept(leaf) => leaf.present().cloned(),
        };
        let leaves = self.operands.iter().map(leaf).collect::<Result<_>>()?;
        Ok(Plan { leaves, passes: Arc::clone(&self.plan.passes), roots: Vec::new() })
    }
}

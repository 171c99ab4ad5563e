//! Owns the reuse of plans: expressions of one structure (operations, dtypes, shapes, strides, and which
//! operands are the same) share their passes, whatever tensors they are on. It does not know how a plan is
//! made.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_ops::Scalar;
use zerostride_shape::Layout;

use super::program::bits;
use super::{Leaf, Plan, PlanSteps};
use crate::expr::{Expr, Kind};
use crate::fork::{Guarded, Lock};
use crate::{Result, Tensor, num_threads};

/// Plans that are kept; the least recently used one is dropped.
const MOST_PLANS: usize = 64;

/// Expressions of more nodes are planned each time: their evaluation costs far more than the plan, and the
/// memory of the cache stays bounded.
const MOST_CACHED_NODES: usize = 64;

/// Most recently used first.
static PLANS: Lock<Vec<KeptPlan>> = Lock::new(Guarded::Plans, Vec::new());

/// A plan without its operands.
struct KeptPlan {
    hash: u64,
    structure: Box<[u64]>,
    /// For each of the plan's operands, its place among the expression's.
    leaves: OperandPlaces,
    passes: Arc<PlanSteps>,
}

type OperandPlaces = SmallVec<[usize; 8]>;

/// The plan of expressions whose values are wanted in layouts: a known one, or the one that `make` makes.
pub(super) fn plan(roots: &[(&Expr, &Layout)], make: impl FnOnce() -> Result<Plan>) -> Result<Plan> {
    thread_local! {
        /// Memory for structures, so that looking a plan up allocates nothing.
        static WORDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }
    let words = WORDS.try_with(RefCell::take).unwrap_or_default();
    let mut structure = Structure { words, nodes: SmallVec::new(), leaves: SmallVec::new() };
    // Loops of one thread have larger panels.
    (roots.len(), num_threads() == 1).hash(&mut structure);
    let mut is_read = true;
    for (root, out) in roots {
        out.hash(&mut structure);
        is_read = is_read && structure.read(root).is_some();
    }
    let plan = if is_read { structure.plan(make) } else { make() };
    structure.words.clear();
    // A thread that is ending keeps nothing.
    let _ = WORDS.try_with(|words| words.replace(structure.words));
    plan
}

/// An expression as numbers, equal for expressions that have the same plan but for their operands.
struct Structure<'a> {
    words: Vec<u64>,
    /// Identities of the nodes read so far.
    nodes: SmallVec<[usize; 16]>,
    /// The distinct operands.
    leaves: SmallVec<[(&'a Tensor, Option<u64>); 8]>,
}

/// Marks a node that has been read before; the node's number follows. No kind of node has this number.
const AGAIN: u64 = u64::MAX;

impl<'a> Structure<'a> {
    /// Writes down a node and what is below; `None` if there is too much of it.
    fn read(&mut self, expr: &'a Expr) -> Option<()> {
        if let Some(number) = self.nodes.iter().position(|&node| node == expr.id()) {
            self.words.extend([AGAIN, number as u64]);
            return Some(());
        }
        if self.nodes.len() == MOST_CACHED_NODES {
            return None;
        }
        self.nodes.push(expr.id());
        let kind = &expr.node().kind;
        discriminant(kind).hash(self);
        match kind {
            Kind::Leaf { tensor, version } => self.leaf(tensor, *version),
            Kind::Number(number) => self.number(*number),
            Kind::Map { op, compute, operands } => (op, compute, operands.len()).hash(self),
            Kind::Cast { dtype, .. } => dtype.hash(self),
            Kind::Reduce { op, dims, keepdim, compute, correction, .. } => {
                (op, dims, keepdim, compute, correction.to_bits()).hash(self);
            }
            Kind::View { view, .. } => view.hash(self),
            Kind::Matmul { .. } => {}
            Kind::Input(_) | Kind::Failed { .. } => return None,
        }
        kind.operands().iter().try_for_each(|operand| self.read(operand))
    }

    fn leaf(&mut self, tensor: &'a Tensor, version: Option<u64>) {
        let place = self.place(tensor, version).unwrap_or_else(|| {
            self.leaves.push((tensor, version));
            self.leaves.len() - 1
        });
        // Formulas call operands that share memory and layout by one name.
        let storage = self.leaves.iter().position(|(other, _)| other.shares_storage(tensor));
        (place, storage, tensor.dtype(), tensor.layout()).hash(self);
    }

    fn number(&mut self, number: Scalar) {
        (discriminant(&number), bits(number)).hash(self);
    }

    /// The place of an operand among the distinct ones.
    fn place(&self, tensor: &Tensor, version: Option<u64>) -> Option<usize> {
        self.leaves.iter().position(|&(other, captured)| Leaf::is_same((other, captured), (tensor, version)))
    }

    fn plan(&self, make: impl FnOnce() -> Result<Plan>) -> Result<Plan> {
        if let Some(plan) = self.known() {
            return Ok(plan);
        }
        let plan = make()?;
        let place = |leaf: &Leaf| self.place(&leaf.tensor, leaf.version);
        if let Some(leaves) = plan.leaves.iter().map(place).collect::<Option<OperandPlaces>>() {
            let structure = self.words.clone().into_boxed_slice();
            let passes = Arc::clone(&plan.passes);
            let entry = KeptPlan { hash: self.finish(), structure, leaves, passes };
            let mut plans = PLANS.lock();
            plans.insert(0, entry);
            plans.truncate(MOST_PLANS);
        }
        Ok(plan)
    }

    fn known(&self) -> Option<Plan> {
        let hash = self.finish();
        let mut plans = PLANS.lock();
        let found = plans.iter().position(|entry| entry.hash == hash && *entry.structure == *self.words)?;
        plans[..=found].rotate_right(1);
        let KeptPlan { leaves, passes, .. } = &plans[0];
        let leaf = |&place: &usize| {
            let (tensor, version) = self.leaves[place];
            Leaf::new(tensor, version)
        };
        let leaves = leaves.iter().map(leaf).collect();
        Some(Plan { leaves, passes: Arc::clone(passes), roots: Vec::new() })
    }
}

/// Hashing writes the words down, so that structures are compared by all their words, not only by a hash.
impl Hasher for Structure<'_> {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        self.words.extend(words.iter().map(|&word| u64::from_ne_bytes(word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.words.push(u64::from_ne_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.words.push(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.words.push(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.words.push(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.words.push(value as u64);
    }

    fn finish(&self) -> u64 {
        // The step of FxHash; entries with equal hashes are compared word by word.
        let step = |hash: u64, &word: &u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        self.words.iter().fold(0, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(expr: &Expr) -> Vec<u64> {
        let mut structure = Structure { words: Vec::new(), nodes: SmallVec::new(), leaves: SmallVec::new() };
        structure.read(expr).unwrap();
        structure.words
    }

    #[test]
    fn structures_differ_where_plans_may() {
        let [a, b] = [1, 2].map(|seed| Tensor::rand(&[3, 3], seed).unwrap());
        let row = Tensor::rand(&[3], 3).unwrap();
        let exponential = Expr::from(&a).exp();
        let different = [
            &a + &b,
            &a + &a,
            &a - &b,
            &a + &row,
            &row + &a,
            &a + a.t().unwrap(),
            &a + b.t().unwrap(),
            &a + 1,
            &a + 1.0,
            &a + 2.0,
            &a + b.to_dtype(zerostride_ops::DType::F64).unwrap(),
            Expr::from(&a).sum(0),
            Expr::from(&a).sum(1),
            Expr::from(&a).sum(crate::keepdim(1)),
            Expr::from(&a).var_corrected(0, 0.0),
            Expr::from(&a).var_corrected(0, 1.0),
            Expr::from(&a).flip(&[0]),
            Expr::from(&a).flip(&[1]),
            &exponential + &exponential,
            Expr::from(&a).exp() + Expr::from(&a).exp(),
            Expr::from(&a).matmul(&b),
            Expr::current(&a) + Expr::from(&a),
        ];
        for (index, one) in different.iter().enumerate() {
            for other in &different[..index] {
                assert_ne!(words(one), words(other), "{one:?} and {other:?}");
            }
        }
        let other = Tensor::rand(&[3, 3], 4).unwrap();
        assert_eq!(words(&(&a + &b)), words(&(&b + &other)));
    }

    #[test]
    fn a_known_plan_runs_on_other_tensors_and_tells_the_same() {
        let tensors: Vec<Tensor> = (0..6).map(|seed| Tensor::rand(&[5, 7], seed).unwrap()).collect();
        let expr = |a: &Tensor, b: &Tensor| ((b - a) * 0.5 + b).exp() * a.sum(0).unwrap();
        let first = expr(&tensors[0], &tensors[1]);
        let plan = first.plan().unwrap();
        let again = expr(&tensors[2], &tensors[3]);
        let known = again.plan().unwrap();
        assert!(Arc::ptr_eq(&plan.passes, &known.passes));
        assert_eq!(plan.to_string(), known.to_string());
        let layout = Layout::contiguous(known.shape().clone());
        let fresh = crate::exec::run(&Plan::make(&[(&again, &layout)]).unwrap());
        assert_eq!(again.eval().unwrap().to_vec::<f32>().unwrap(), fresh.unwrap().to_vec::<f32>().unwrap());
    }

    #[test]
    fn the_number_of_plans_is_bounded_and_long_expressions_are_not_kept() {
        let x = Tensor::ones(&[2]).unwrap();
        for number in 0..2 * MOST_PLANS {
            assert!((&x + number as f64).exp().plan().is_ok());
        }
        assert!(PLANS.lock().len() <= MOST_PLANS);
        let long = (0..MOST_CACHED_NODES).fold(Expr::from(&x), |sum, _| sum.exp());
        let [one, other] = [long.plan().unwrap(), long.plan().unwrap()];
        assert!(!Arc::ptr_eq(&one.passes, &other.passes));
    }
}

//! Owns `Class`, the kinds of implicit broadcast that a policy may allow, warn about or refuse.
//! It does not know policies, nor how a class is put into words (`text/notes.rs`).

use std::fmt;

use serde::Serialize;
use zerostride_shape::{Role, Roles, Shape};

/// What a broadcast does that the shapes alone do not show to a reader of the program.
///
/// ```
/// use zerostride_explain::{Class, Explanation, Operand, Options};
///
/// let loss = Explanation::new(vec![Operand::new(&[32, 1]), Operand::new(&[32])], Options::default());
/// assert!(loss.classes().contains(&Class::MutualStretch));
/// assert_eq!(Class::MutualStretch.to_string(), "mutual_stretch");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Class {
    /// An operand got a dimension that it did not have.
    RankAdded,
    /// A size of 1 was stretched.
    Stretched,
    /// The result has more elements than EVERY operand.
    MutualStretch,
    /// Two operands have equally many elements, but different shapes.
    SameNumel,
    /// The result takes more bytes than the limit.
    BlowUp,
}

impl Class {
    /// The name in JSON and in policies.
    pub const fn name(self) -> &'static str {
        match self {
            Class::RankAdded => "rank_added",
            Class::Stretched => "stretched",
            Class::MutualStretch => "mutual_stretch",
            Class::SameNumel => "same_numel",
            Class::BlowUp => "blow_up",
        }
    }

    /// Every class that applies to a broadcast, in the order of the enum.
    pub(crate) fn of(facts: &Facts<'_>) -> Vec<Class> {
        let role = |wanted: Role| facts.roles.iter().any(|roles| roles.contains(&wanted));
        let numel = |shape: &&[usize]| shape.iter().product::<usize>();
        let same_numel = || {
            let mut sorted: Vec<(usize, &[usize])> =
                facts.operands.iter().map(|shape| (numel(shape), *shape)).collect();
            sorted.sort_unstable();
            sorted.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
        };
        let applies = |class: &Class| match class {
            Class::RankAdded => role(Role::Added),
            Class::Stretched => role(Role::Stretched),
            Class::MutualStretch => is_mutual(facts.result, facts.operands),
            Class::SameNumel => same_numel(),
            Class::BlowUp => facts.result_bytes > facts.max_bytes,
        };
        let all = [Class::RankAdded, Class::Stretched, Class::MutualStretch, Class::SameNumel, Class::BlowUp];
        all.into_iter().filter(applies).collect()
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the classes are decided on.
pub(crate) struct Facts<'a> {
    pub(crate) result: &'a Shape,
    pub(crate) operands: &'a [&'a [usize]],
    pub(crate) roles: &'a [Roles],
    pub(crate) result_bytes: u128,
    pub(crate) max_bytes: u128,
}

/// Whether the result has more elements than every operand.
pub(crate) fn is_mutual(result: &Shape, operands: &[&[usize]]) -> bool {
    let numel = result.numel();
    !operands.is_empty() && operands.iter().all(|shape| shape.iter().product::<usize>() < numel)
}

//! Owns the sections in which readers find operations and functions. It does not know where they are printed.

use zerostride_ops::{Class, Section};

/// The sections of the table of operations.
pub(crate) const OPERATIONS: [(Class, &str, &str); 5] = [
    (Class::Unary, "One operand", "Element by element."),
    (Class::Binary, "Two operands", "Element by element; the operands broadcast."),
    (Class::Nary, "More operands", "Element by element; all operands broadcast."),
    (Class::Reduce, "Reductions", "Dimensions are combined; `dim` is one dimension, several, or all."),
    (Class::Formula, "Formulas", "Written in terms of the operations above, and fused with them."),
];

/// The sections of the table of functions.
pub(crate) const FUNCTIONS: [(Section, &str, &str); 4] = [
    (Section::View, "Views", "Other shapes of the same elements."),
    (Section::Product, "Products", "Sums of products; fused with what is computed of them."),
    (Section::Join, "Tensors put together", "Copies, made at once."),
    (Section::Move, "Elements repeated, moved, ordered, picked and counted", "Copies, made at once."),
];

/// The title of a class of operations.
pub(crate) fn title(class: Class) -> &'static str {
    OPERATIONS.iter().find(|(known, ..)| *known == class).map_or("Others", |(_, title, _)| title)
}

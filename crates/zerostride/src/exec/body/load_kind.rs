//! Owns how a program reads a load. It does not know where the elements are.

/// How a program reads a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LoadKind {
    /// One element for each result.
    Vector,
    /// The same, with a stride of so many elements. Only code reads them.
    Stepped(isize),
    /// A broadcast scalar.
    Splat,
}

impl LoadKind {
    /// Elements from that of one result to that of the next.
    pub(crate) fn step(self) -> isize {
        match self {
            LoadKind::Vector => 1,
            LoadKind::Stepped(step) => step,
            LoadKind::Splat => 0,
        }
    }
}

//! Owns the examples of the tour: sections, each example with a remark. It does not know how they are run.

use zerostride::Op;

/// A section of the tour.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
    pub(super) stops: &'static [Stop],
}

/// One example.
pub(super) struct Stop {
    pub(super) example: Example,
    pub(super) show: Show,
    /// The text below it; empty if the picture is enough.
    pub(super) remark: &'static str,
}

/// What is broadcast.
pub(super) enum Example {
    /// Shapes alone, added.
    Shapes { shapes: &'static [&'static str], in_place: bool },
    /// Integers.
    Values { op: Op, expression: &'static str, bindings: &'static [&'static str] },
}

/// How much of the explanation is shown.
#[derive(Clone, Copy)]
pub(super) enum Show {
    /// All of it.
    Whole,
    /// The first line and the picture.
    Picture,
    /// The result alone.
    Result,
}

const fn shapes(shapes: &'static [&'static str], show: Show, remark: &'static str) -> Stop {
    Stop { example: Example::Shapes { shapes, in_place: false }, show, remark }
}

const fn in_place(shapes: &'static [&'static str], show: Show, remark: &'static str) -> Stop {
    Stop { example: Example::Shapes { shapes, in_place: true }, show, remark }
}

const fn values(
    expression: &'static str,
    bindings: &'static [&'static str],
    show: Show,
    remark: &'static str,
) -> Stop {
    Stop { example: Example::Values { op: Op::Add, expression, bindings }, show, remark }
}

const fn times(
    expression: &'static str,
    bindings: &'static [&'static str],
    show: Show,
    remark: &'static str,
) -> Stop {
    Stop { example: Example::Values { op: Op::Mul, expression, bindings }, show, remark }
}

pub(super) const TOUR: &[Section] = &[
    Section {
        title: "Broadcasting, by PyTorch's rules",
        text: "\
Tensors of different shapes can be combined element by element. Line the shapes
up at their last dimension: in every column the sizes are equal, or one of them
is 1 and is stretched to the other. A dimension that is missing on the left
counts as 1. Nothing is ever copied.",
        stops: &[shapes(&["x=5,1,4,1", "y=3,1,2"], Show::Whole, "")],
    },
    Section {
        title: "1. Shapes that go together",
        text: "Equal shapes always do. A single row serves every row. What is missing is added.",
        stops: &[
            shapes(&["x=5,7,3", "y=5,7,3"], Show::Picture, ""),
            shapes(
                &["a=4,3", "b=1,3"],
                Show::Picture,
                "The only row of b is added to each of the four rows of a.",
            ),
            shapes(&["x=5,3,4,1", "y=3,1,1"], Show::Picture, ""),
            shapes(&["x=5,1,4,1", "y=3,1,1"], Show::Picture, ""),
            shapes(&["x=1", "y=3,1,7"], Show::Picture, ""),
        ],
    },
    Section {
        title: "2. The same with numbers",
        text: "What is stretched is drawn before and after. Results print as PyTorch's do.",
        stops: &[
            values("a + b", &["a=[[1, 2, 3]]", "b=[[4], [5], [6]]"], Show::Whole, ""),
            times("a * b", &["a=[[1, 2, 3]]", "b=5"], Show::Whole, ""),
            values("a + b", &["a=[[1, 2], [3, 4]]", "b=10"], Show::Result, "A number goes with every shape."),
            values(
                "a + b",
                &["a=[[1, 2, 3], [4, 5, 6]]", "b=[10, 20, 30]"],
                Show::Result,
                "A row of shape (3,) is added to each row of shape (2, 3) ...",
            ),
            values(
                "a + b",
                &["a=[[1, 2], [3, 4], [5, 6]]", "b=[[10], [20], [30]]"],
                Show::Result,
                "... and a column of shape (3, 1) to each column of (3, 2).",
            ),
            values(
                "a + b",
                &["a=[[1], [2], [3]]", "b=[10, 20]"],
                Show::Result,
                "(3, 1) and (2,): both are stretched.",
            ),
        ],
    },
    Section {
        title: "3. Shapes that do not go together",
        text: "\
The error is PyTorch's, word for word; its dimension is one of the result. What
might have been meant is tried before it is offered.",
        stops: &[
            shapes(&["x=1,2,3", "y=3,3"], Show::Whole, ""),
            shapes(
                &["x=5,2,4,1", "y=3,1,1"],
                Show::Picture,
                "In the third column from the right, 2 and 3 differ, and neither is 1.",
            ),
        ],
    },
    Section {
        title: "4. In place",
        text: "An operation in place stretches its operands, never the tensor it writes to.",
        stops: &[
            in_place(&["x=5,3,4,1", "y=3,1,1"], Show::Picture, ""),
            in_place(
                &["x=1,3,1", "y=3,1,7"],
                Show::Whole,
                "\
PyTorch's own note still shows an older text for this error (\"The expanded size
of the tensor (1) must match the existing size (7) ...\"). Today's is the above.",
            ),
        ],
    },
    Section {
        title: "5. Where the documents are wrong",
        text: "\
The examples come from PyTorch's note on broadcasting and from guides built on
it. Not all of what these say holds when it is tried.",
        stops: &[
            values(
                "f + g",
                &["f=[[1, 2, 3]]", "g=[[10], [20]]"],
                Show::Picture,
                "\
A guide ends with these two as its example of an ERROR. They go together: in
both columns one size is 1.",
            ),
            shapes(
                &["a=0", "b=3,4"],
                Show::Picture,
                "\
This is an error, but not because \"a has rank 0\" or lacks \"at least one
dimension\": it has one dimension, of size 0, and 0 is neither 4 nor 1.",
            ),
            shapes(
                &["a=0", "b=1"],
                Show::Picture,
                "\
\"The resulting size is the maximum\" fails here: a size of 1 takes the OTHER
size, and that is 0.",
            ),
            shapes(
                &["a=()", "b=2,3"],
                Show::Picture,
                "\
\"Each tensor has at least one dimension\" is no rule any more: a tensor without
dimensions goes with every shape.",
            ),
        ],
    },
    Section {
        title: "What to try next",
        text: "  \
  zs explain 32,10 32                        a classic mistake, and its repair
  zs explain output=32 target=32,1 --op sub  a worse one: no error, a wrong loss
  zs eval 'exp(-x ** 2)' 'x=linspace(-2, 2, 9)'
  zs eval '((a[:, None] - b) ** 2).sum(-1)' 'a=rand(500, 3)' 'b=rand(400, 3)' \\
     --plan -o distances.npy
  zs info distances.npy                      what is in a file
  zs --help                                  everything else",
        stops: &[],
    },
];

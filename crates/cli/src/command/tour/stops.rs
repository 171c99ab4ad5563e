//! Owns the examples of the tour: sections, each example with a remark. It does not know how they are run.

use zerostride::Op;

/// A section of the tour; texts are keys of the catalogue.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
    pub(super) stops: &'static [Stop],
}

/// One example.
pub(super) struct Stop {
    pub(super) example: Example,
    pub(super) show: Show,
    /// The key of the text below it; empty if the picture is enough.
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
        title: "tour-rules",
        text: "tour-rules-text",
        stops: &[shapes(&["x=5,1,4,1", "y=3,1,2"], Show::Whole, "")],
    },
    Section {
        title: "tour-together",
        text: "tour-together-text",
        stops: &[
            shapes(&["x=5,7,3", "y=5,7,3"], Show::Picture, ""),
            shapes(&["a=4,3", "b=1,3"], Show::Picture, "tour-only-row"),
            shapes(&["x=5,3,4,1", "y=3,1,1"], Show::Picture, ""),
            shapes(&["x=5,1,4,1", "y=3,1,1"], Show::Picture, ""),
            shapes(&["x=1", "y=3,1,7"], Show::Picture, ""),
        ],
    },
    Section {
        title: "tour-numbers",
        text: "tour-numbers-text",
        stops: &[
            values("a + b", &["a=[[1, 2, 3]]", "b=[[4], [5], [6]]"], Show::Whole, ""),
            times("a * b", &["a=[[1, 2, 3]]", "b=5"], Show::Whole, ""),
            values("a + b", &["a=[[1, 2], [3, 4]]", "b=10"], Show::Result, "tour-a-number"),
            values("a + b", &["a=[[1, 2, 3], [4, 5, 6]]", "b=[10, 20, 30]"], Show::Result, "tour-a-row"),
            values(
                "a + b",
                &["a=[[1, 2], [3, 4], [5, 6]]", "b=[[10], [20], [30]]"],
                Show::Result,
                "tour-a-column",
            ),
            values("a + b", &["a=[[1], [2], [3]]", "b=[10, 20]"], Show::Result, "tour-both"),
        ],
    },
    Section {
        title: "tour-apart",
        text: "tour-apart-text",
        stops: &[
            shapes(&["x=1,2,3", "y=3,3"], Show::Whole, ""),
            shapes(&["x=5,2,4,1", "y=3,1,1"], Show::Picture, "tour-third-column"),
        ],
    },
    Section {
        title: "tour-in-place",
        text: "tour-in-place-text",
        stops: &[
            in_place(&["x=5,3,4,1", "y=3,1,1"], Show::Picture, ""),
            in_place(&["x=1,3,1", "y=3,1,7"], Show::Whole, "tour-older-text"),
        ],
    },
    Section {
        title: "tour-wrong",
        text: "tour-wrong-text",
        stops: &[
            values("f + g", &["f=[[1, 2, 3]]", "g=[[10], [20]]"], Show::Picture, "tour-no-error"),
            shapes(&["a=0", "b=3,4"], Show::Picture, "tour-size-zero"),
            shapes(&["a=0", "b=1"], Show::Picture, "tour-not-the-maximum"),
            shapes(&["a=()", "b=2,3"], Show::Picture, "tour-no-dimension"),
        ],
    },
    Section { title: "tour-next", text: "tour-next-text", stops: &[] },
];

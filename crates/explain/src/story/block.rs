//! Owns the parts of a story as data. It does not know their sentences.

/// One part of a story.
pub(crate) enum Block {
    /// The title of a section.
    Title(String),
    /// A sentence below a title.
    Says(String),
    /// A sentence below a title, about what is wrong.
    Warns(String),
    /// A sentence without a title.
    Alone(String),
    /// The dimensions compared.
    Rows(Vec<Row>),
    /// How each operand is read.
    Account(Account),
    /// An operand before and after.
    Stretch(Stretch),
    /// The operands and the result.
    Equation(Equation),
    /// A warning, and what could be done instead.
    Note { label: String, text: String, instead: Option<(String, Vec<Offer>)> },
    /// What would repair the error.
    Offers(Vec<Offer>),
}

/// The sentence about one dimension, or about neighbouring ones for which it is the same.
pub(crate) struct Row {
    /// The first and the last of them in the order of comparison, from the right.
    pub(crate) dims: (usize, usize),
    pub(crate) label: String,
    pub(crate) text: String,
    pub(crate) fits: bool,
}

/// How each operand is read, as a table.
pub(crate) struct Account {
    /// The titles of the columns beside the names: repeats, own bytes, bytes of a copy, strides.
    pub(crate) header: [String; 4],
    /// The name of each operand, and its cells.
    pub(crate) rows: Vec<(String, [String; 4])>,
    /// Each row as a sentence, for pages too narrow for a table.
    pub(crate) sentences: Vec<String>,
}

/// Elements in nested brackets, one row in a line, as PyTorch prints them.
#[derive(Clone)]
pub(crate) struct Matrix(pub(crate) Vec<String>);

/// An operand before and after.
pub(crate) struct Stretch {
    pub(crate) title: String,
    pub(crate) before: Matrix,
    pub(crate) after: Matrix,
}

/// The stretched operands and the result.
pub(crate) struct Equation {
    pub(crate) title: String,
    pub(crate) operands: Vec<Matrix>,
    /// The operator between two operands; without it the result is drawn alone.
    pub(crate) symbol: Option<&'static str>,
    pub(crate) result: Matrix,
}

impl Matrix {
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|line| line.chars().count()).max().unwrap_or(0)
    }
}

/// The sentences about one repair.
pub(crate) struct Offer {
    /// The operand that changes.
    pub(crate) operand: usize,
    pub(crate) call: String,
    pub(crate) effect: String,
    pub(crate) advice: Option<String>,
}

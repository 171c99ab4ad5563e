//! Owns `Story`: everything that is said of a broadcast, in order, as sentences of one language without any
//! layout. It does not know pages nor markup: `text/` and `html/` lay it out, and say nothing of their own.

mod account;
mod headline;
mod matrices;
mod notes;
mod repairs;
mod steps;
pub(crate) mod words;

use zerostride_shape::ShapeError;

use crate::alignment::{Column, columns};
use crate::explanation::Explanation;
use crate::lang::Lang;
pub(crate) use account::Account;
pub(crate) use headline::Headline;
pub use matrices::DRAWN_ELEMENTS;
pub(crate) use matrices::{Equation, Matrix, Stretch};
pub(crate) use repairs::Offer;
pub(crate) use steps::Row;

/// One piece of what is said.
pub(crate) enum Block {
    /// What a section is about.
    Title(String),
    /// A sentence below a title.
    Says(String),
    /// A sentence below a title that says what is wrong.
    Warns(String),
    /// A sentence of its own.
    Alone(String),
    /// The dimensions compared.
    Rows(Vec<Row>),
    /// How each operand is read.
    Account(Account),
    /// An operand before and after.
    Stretch(Stretch),
    /// The operands and the result.
    Equation(Equation),
    /// Something to mind, and what could be done instead.
    Note { label: String, text: String, instead: Option<(String, Vec<Offer>)> },
    /// What would work.
    Offers(Vec<Offer>),
}

/// Everything that is said.
pub(crate) struct Story {
    pub(crate) headline: Headline,
    /// The shapes lined up; none where they have too many dimensions to be.
    pub(crate) columns: Option<Vec<Column>>,
    /// What is said below the picture.
    pub(crate) blocks: Vec<Block>,
}

impl Story {
    pub(crate) fn new(explanation: &Explanation, lang: Lang) -> Story {
        let mut blocks = Vec::new();
        let columns = lined_up(explanation);
        if let Some(columns) = &columns {
            steps::tell(explanation, columns, lang, &mut blocks);
        }
        match explanation.broadcast() {
            Some(broadcast) => {
                account::tell(explanation, lang, &mut blocks);
                matrices::tell(explanation, broadcast.shape(), lang, &mut blocks);
                notes::tell(explanation, broadcast.shape(), lang, &mut blocks);
            }
            None => repairs::tell(explanation, lang, &mut blocks),
        }
        Story { headline: headline::tell(explanation, lang), columns, blocks }
    }
}

/// The shapes lined up; shapes of too many dimensions are refused before anything is.
fn lined_up(explanation: &Explanation) -> Option<Vec<Column>> {
    let shapes: Vec<&[usize]> = explanation.operands().iter().map(|operand| &*operand.shape).collect();
    let refused = matches!(explanation.error(), Some(ShapeError::RankTooHigh { .. }));
    (!refused).then(|| columns(&shapes, explanation.broadcast()))
}

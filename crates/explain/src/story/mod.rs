//! Owns `Story`: all that an explanation says, in order, as sentences in one language and without layout. It
//! does not know pages nor markup, which `text/` and `html/` add without sentences of their own.

mod account;
mod block;
mod headline;
mod matrices;
mod notes;
mod repairs;
mod steps;
pub(crate) mod words;

use zerostride_shape::{ShapeError, Size};

use crate::alignment::{Column, columns};
use crate::explanation::{Explanation, Reduction};
use crate::lang::Lang;
pub(crate) use block::{Account, Block, Equation, Matrix, Offer, Row, Stretch};
pub(crate) use headline::Headline;
pub use matrices::DRAWN_ELEMENTS;

/// All that an explanation says.
pub(crate) struct Story {
    pub(crate) headline: Headline,
    /// The aligned shapes; `None` if they have too many dimensions.
    pub(crate) columns: Option<Vec<Column>>,
    /// The parts below the picture.
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

/// The aligned shapes; `None` if they have too many dimensions, which is checked first.
fn lined_up(explanation: &Explanation) -> Option<Vec<Column>> {
    let shapes: Vec<&[Size]> = explanation.operands().iter().map(|operand| &*operand.shape).collect();
    let refused = matches!(explanation.error(), Some(ShapeError::RankTooHigh { .. }));
    let mut columns = (!refused).then(|| columns(&shapes, explanation.broadcast()))?;
    if let Some(Reduction { dims, keepdim, .. }) = &explanation.options().reduction {
        for column in columns.iter_mut().filter(|column| dims.contains(&column.dim)) {
            column.reduced = Some(if *keepdim { "1" } else { "·" });
        }
    }
    Some(columns)
}

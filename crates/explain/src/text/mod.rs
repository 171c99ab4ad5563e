//! Owns the text of an explanation: which sections it has and in which order, and the page they are laid out for.
//! It does not know what a section says (one file for each), nor whether anybody's terminal shows colours.

mod cost;
mod headline;
mod matrix;
mod notes;
mod picture;
mod repairs;
mod sheet;
mod steps;
mod words;

use std::fmt;

use zerostride_shape::ShapeError;

use crate::alignment::columns;
use crate::explanation::Explanation;
use sheet::Sheet;

/// What a text is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The columns that a line may have; below 40 it is laid out as for 40. Every character counts as one column.
    pub width: usize,
    /// Whether arrows and rules may be drawn with characters outside ASCII. Names are printed as they are.
    pub unicode: bool,
    /// Whether to write ANSI styles.
    pub colour: bool,
}

impl Default for Page {
    /// 80 columns, Unicode, no colour.
    fn default() -> Page {
        Page { width: 80, unicode: true, colour: false }
    }
}

impl Explanation {
    /// The explanation for a reader: the shapes lined up, the two steps of the rule, how each operand is read and what
    /// copies would have cost, and what is suspicious; or the error in PyTorch's words and what would repair it.
    ///
    /// Small operands whose elements are known are drawn before and after being stretched (at most 64 elements in the result,
    /// at most 3 dimensions); of those without elements the places are drawn, in at most 2 dimensions.
    ///
    /// ```
    /// use zerostride_explain::{Explanation, Operand, Options, Page};
    ///
    /// let operands = vec![Operand::new(&[5, 2, 4, 1]), Operand::new(&[3, 1, 1])];
    /// let text = Explanation::new(operands, Options::default()).text(&Page::default());
    /// assert!(text.starts_with(
    ///     "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1\n"
    /// ));
    /// ```
    pub fn text(&self, page: &Page) -> String {
        let mut sheet = Sheet::new(page);
        let shapes: Vec<&[usize]> = self.operands().iter().map(|operand| &*operand.shape).collect();
        headline::write(self, &mut sheet);
        // Shapes of too many dimensions are refused before anything is lined up.
        if !matches!(self.error(), Some(ShapeError::RankTooHigh { .. })) {
            let columns = columns(&shapes, self.broadcast());
            picture::write(self, &columns, &mut sheet);
            steps::write(self, &columns, &mut sheet);
        }
        if self.broadcast().is_some() {
            cost::write(self, &mut sheet);
            matrix::write(self, &mut sheet);
            notes::write(self, &mut sheet);
        } else {
            repairs::write(self, &mut sheet);
        }
        sheet.finish()
    }
}

impl fmt::Display for Explanation {
    /// The text for the default page.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&Page::default()))
    }
}

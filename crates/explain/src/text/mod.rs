//! Owns the text of an explanation: the layout of each block of its story. It does not know the sentences
//! (`story/`) nor whether a terminal shows colours.

mod account;
mod matrix;
mod offers;
mod page;
mod picture;
mod sheet;

use std::fmt;

use crate::explanation::Explanation;
use crate::story::{Block, Headline, Row, Story};
pub use page::Page;
use sheet::{Ink, Line, Sheet, width};

impl Explanation {
    /// The explanation as text: the aligned shapes, the two steps of the rule, how each operand is read and
    /// what copies would have cost, and what is suspicious; or PyTorch's error and what would repair it.
    ///
    /// Small operands whose elements are known are drawn before and after stretching (at most 64 elements in
    /// the result, at most 3 dimensions). Without known elements their indices are drawn, in at most 2
    /// dimensions.
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
        let story = Story::new(self, page.lang);
        let mut sheet = Sheet::new(page);
        write_headline(&story.headline, &mut sheet);
        if let Some(columns) = &story.columns {
            picture::write(self, columns, page.lang, &mut sheet);
        }
        for block in &story.blocks {
            write(block, &mut sheet);
        }
        sheet.finish()
    }
}

fn write_headline(headline: &Headline, sheet: &mut Sheet) {
    match headline {
        Headline::Error { line, who } => {
            sheet.line(&Line::new().with(Ink::Wrong, line));
            if let Some(who) = who {
                sheet.paragraph(&Line::new(), Ink::Faint, who);
            }
        }
        Headline::Broadcast(forms) => {
            let [full, shorter, shortest] = forms;
            let fitting = [full, shorter].into_iter().find(|text| width(text) <= sheet.width());
            sheet.title(fitting.unwrap_or(shortest));
        }
    }
}

fn write(block: &Block, sheet: &mut Sheet) {
    match block {
        Block::Title(title) => sheet.title(title),
        Block::Says(text) => sheet.paragraph(&Line::indent(2), Ink::Plain, text),
        Block::Warns(text) => sheet.paragraph(&Line::indent(2), Ink::Wrong, text),
        Block::Alone(text) => {
            sheet.blank();
            sheet.paragraph(&Line::new(), Ink::Plain, text);
        }
        Block::Rows(rows) => write_rows(rows, sheet),
        Block::Account(account) => account::write(account, sheet),
        Block::Stretch(stretch) => matrix::write_stretch(stretch, sheet),
        Block::Equation(equation) => matrix::write_equation(equation, sheet),
        Block::Offers(offers) => offers::write(offers, "  - ", sheet),
        Block::Note { label, text, instead } => {
            let lead = Line::new().with(Ink::Title, format!("{label} "));
            let margin = lead.width();
            sheet.blank();
            sheet.paragraph(&lead, Ink::Plain, text);
            if let Some((title, offers)) = instead {
                sheet.paragraph(&Line::indent(margin), Ink::Plain, title);
                offers::write(offers, &format!("{}- ", " ".repeat(margin)), sheet);
            }
        }
    }
}

/// The dimensions on the left, the sentence about them on the right.
fn write_rows(rows: &[Row], sheet: &mut Sheet) {
    let margin = rows.iter().map(|row| width(&row.label)).max().unwrap_or(0);
    for Row { label, text, fits, .. } in rows {
        let ink = if *fits { Ink::Plain } else { Ink::Wrong };
        let lead = Line::indent(2).with(Ink::Faint, format!("{label:margin$}   "));
        sheet.paragraph(&lead, ink, text);
    }
}

impl fmt::Display for Explanation {
    /// The text for the default page.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&Page::default()))
    }
}

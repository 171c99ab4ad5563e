//! Owns the legend: what the signs of a picture mean, as far as there are any. It does not know where it
//! stands.

use zerostride_shape::Role;

use super::canvas::{Anchor, Canvas};
use crate::alignment::Column;
use crate::lang::{Lang, say};

const LINE: f64 = 23.0;
/// Between the left edge and the words.
const MARGIN: f64 = 38.0;
/// The width of a character, and the side of a cell.
const CHARACTER: f64 = 6.9;
const CELL: f64 = 14.0;

/// A sign that needs to be explained.
enum Sign {
    /// A cell of an operand itself.
    Own,
    /// A cell that is seen again.
    Ghost,
    /// What becomes of a size.
    Size(&'static str),
}

/// Signs and what they mean.
pub(super) struct Legend(Vec<(Sign, String)>);

impl Legend {
    /// The legend of what is drawn of these columns.
    pub(super) fn new(columns: &[Column], lang: Lang) -> Legend {
        let fitting = || columns.iter().filter(|column| column.result.is_some());
        let has = |role: Role| fitting().any(|column| column.roles.contains(&role));
        let (stretched, added) = (has(Role::Stretched), has(Role::Added));
        let mut signs = Vec::new();
        if stretched || added {
            signs.push((Sign::Own, say!(lang, "own-elements")));
            signs.push((Sign::Ghost, say!(lang, "seen-again")));
        }
        if stretched {
            signs.push((Sign::Size("1→n"), say!(lang, "legend-stretched")));
        }
        if added {
            signs.push((Sign::Size("·→n"), say!(lang, "legend-added")));
        }
        Legend(signs)
    }

    pub(super) fn width(&self) -> f64 {
        let longest = self.0.iter().map(|(_, meaning)| meaning.chars().count()).max().unwrap_or(0);
        MARGIN + longest as f64 * CHARACTER
    }

    /// Draws one sign below the other from a place on, and says how far down they reach.
    pub(super) fn draw(&self, canvas: &mut Canvas, (x, y): (f64, f64)) -> f64 {
        let mut base = y - 7.0;
        for (sign, meaning) in &self.0 {
            base += LINE;
            let cell = [x + 8.0, base - CELL + 3.0, CELL, CELL];
            canvas.open("zs-legend zs-hue-0", &[]);
            match sign {
                Sign::Own => canvas.rect("zs-hue zs-front", cell),
                Sign::Ghost => {
                    canvas.open("zs-ghost", &[]);
                    canvas.rect("zs-hue zs-front zs-shared", cell);
                    canvas.close();
                }
                Sign::Size(size) => canvas.text("zs-code", (x + 15.0, base), Anchor::Middle, size),
            }
            canvas.text("zs-faint", (x + MARGIN, base), Anchor::Start, meaning);
            canvas.close();
        }
        base
    }
}

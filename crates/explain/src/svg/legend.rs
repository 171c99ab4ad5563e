//! Owns the legend: the meaning of the signs that a picture has. It does not know its position.

use zerostride_shape::Role;

use super::canvas::{Anchor, Canvas};
use crate::alignment::Column;
use crate::lang::{Lang, say};

const LINE: f64 = 23.0;
/// The distance between the left edge and the words.
const MARGIN: f64 = 38.0;
/// The width of a character, and the side of a cell.
const CHARACTER: f64 = 6.9;
const CELL: f64 = 14.0;

/// A sign that the legend explains.
enum Sign {
    /// A cell of an operand itself.
    Own,
    /// A cell that repeats one.
    Ghost,
    /// How a size changes.
    Size(&'static str),
}

/// Signs and what they mean.
pub(super) struct Legend(Vec<(Sign, String)>);

impl Legend {
    /// The legend for these columns.
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

    /// Draws the signs one below the other from a point on, and returns the bottom.
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

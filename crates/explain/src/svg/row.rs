//! Owns the row of cuboids: the operands with the operator between them, and the result, as large as the page
//! allows, wrapped if one line is too short. It does not know how a cuboid is drawn (`cubes.rs`).

use zerostride_ops::Class as OpClass;
use zerostride_shape::{Role, ShapeError, Size};

use super::canvas::{Anchor, Canvas, Path};
use super::cubes::{Cell, Cuboid, Extent};
use super::view::{Axis, View};
use crate::alignment::Column;
use crate::explanation::Explanation;
use crate::lang::{Lang, count, say};
use crate::story::words::{label, tuple};
use crate::theme::hue;

/// The sides of a cell that are tried, the largest first.
const SIDES: [f64; 9] = [40.0, 36.0, 33.0, 30.0, 27.0, 25.0, 23.0, 21.0, 19.0];
/// The side of a cell if even the smallest needs more than one line.
const LINES_SIDE: f64 = 30.0;
/// The least width of a sign between two cuboids, and that of a character of a word.
const SIGN: f64 = 40.0;
const SIGN_CHARACTER: f64 = 8.0;
/// The width of the cross in place of a result.
const CROSS: f64 = 120.0;
/// The greatest height of a front.
const TALLEST: f64 = 230.0;
/// Operands beyond this number are in the table only.
pub(super) const DRAWN: usize = 6;
/// Elements of more characters are not drawn on cubes.
const LONGEST_VALUE: usize = 9;
/// Of shapes with more characters, only the number of dimensions is written.
const LONGEST_SHAPE: usize = 24;
/// The width of a character on a cube.
const CHARACTER: f64 = 7.3;

/// One piece of a row.
enum Piece<'a> {
    Cuboid(Box<Cuboid<'a>>),
    Sign(String),
    Cross(String),
}

/// Draws the row between `x` and `x + room` from `y` on, and returns its size.
pub(super) fn draw(
    explanation: &Explanation,
    columns: &[Column],
    lang: Lang,
    canvas: &mut Canvas,
    (x, y): (f64, f64),
    room: f64,
) -> (f64, f64) {
    let view = View::new(explanation, columns);
    let pieces = pieces(explanation, &view, columns, lang);
    let longest = longest_value(explanation);
    let (cell, lines) = arrange(&pieces, longest, room);
    let (mut bottom, mut widest) = (y, 0.0f64);
    for line in lines {
        let (mut above, mut below, mut wide) = (0.0f64, 0.0f64, 0.0);
        for piece in line {
            let (width, up, down) = size(piece, cell);
            above = above.max(up);
            below = below.max(down);
            wide += width;
        }
        widest = widest.max(wide);
        // The middles of all fronts are at one height.
        let middle = bottom + above;
        let mut left = x + (room - wide).max(0.0) / 2.0;
        for piece in line {
            match piece {
                Piece::Cuboid(cuboid) => {
                    let extent = cuboid.extent(cell);
                    cuboid.draw(canvas, cell, (left + extent.left, middle - extent.front / 2.0));
                }
                Piece::Sign(sign) => {
                    let centre = left + sign_width(sign) / 2.0;
                    let (class, down) = if sign.contains(' ') { ("zs-code", 4.5) } else { ("zs-sign", 8.0) };
                    canvas.text(&format!("{class} zs-faint"), (centre, middle + down), Anchor::Middle, sign);
                }
                Piece::Cross(why) => draw_cross(canvas, (left + CROSS / 2.0, middle), why),
            }
            left += size(piece, cell).0;
        }
        bottom = middle + below + 14.0;
    }
    (widest, bottom - 14.0 - y)
}

/// The width of a piece, and its extent above and below its middle.
fn size(piece: &Piece<'_>, cell: Cell) -> (f64, f64, f64) {
    match piece {
        Piece::Cuboid(cuboid) => {
            let Extent { left, right, above, below, front } = cuboid.extent(cell);
            (left + cuboid.width(cell) + right, above + front / 2.0, below + front / 2.0)
        }
        Piece::Sign(sign) => (sign_width(sign), 16.0, 16.0),
        Piece::Cross(_) => (CROSS, 30.0, 44.0),
    }
}

fn sign_width(sign: &str) -> f64 {
    SIGN.max((sign.chars().count() + 3) as f64 * SIGN_CHARACTER)
}

/// The size of a cell, and the pieces by line.
fn arrange<'a, 'b>(pieces: &'a [Piece<'b>], longest: usize, room: f64) -> (Cell, Vec<&'a [Piece<'b>]>) {
    let cell = |side: f64| Cell { width: side.max(longest as f64 * CHARACTER + 9.0), height: side };
    let fits = |side: &f64| {
        let sizes = pieces.iter().map(|piece| size(piece, cell(*side)).0);
        let front = |piece: &Piece<'_>| match piece {
            Piece::Cuboid(cuboid) => cuboid.extent(cell(*side)).front,
            _ => 0.0,
        };
        sizes.sum::<f64>() <= room && pieces.iter().map(front).fold(0.0, f64::max) <= TALLEST
    };
    if let Some(side) = SIDES.into_iter().find(fits) {
        return (cell(side), vec![pieces]);
    }
    let cell = cell(LINES_SIDE);
    let (mut lines, mut start, mut used) = (Vec::new(), 0, 0.0);
    for (at, piece) in pieces.iter().enumerate() {
        let width = size(piece, cell).0;
        // A sign is at the start of a line rather than at its end.
        let with_next = matches!(piece, Piece::Sign(_))
            .then(|| pieces.get(at + 1).map_or(0.0, |next| size(next, cell).0))
            .unwrap_or(0.0);
        if at > start && used + width + with_next > room && !matches!(pieces[at - 1], Piece::Sign(_)) {
            lines.push(&pieces[start..at]);
            (start, used) = (at, 0.0);
        }
        used += width;
    }
    lines.push(&pieces[start..]);
    (cell, lines)
}

/// The operands, the signs between them, and the result or what replaces it.
fn pieces<'a>(
    explanation: &'a Explanation,
    view: &View<'a>,
    columns: &'a [Column],
    lang: Lang,
) -> Vec<Piece<'a>> {
    let info = explanation.options().op.map(|op| op.info());
    let symbol = info.filter(|info| info.class == OpClass::Binary).and_then(|info| info.symbol);
    let between = symbol.unwrap_or(",");
    let before_result = match (&explanation.options().reduction, symbol, explanation.options().in_place) {
        (Some(reduction), ..) => format!("{} →", reduction.op.name()),
        (None, Some(_), false) => "=".to_owned(),
        _ => "→".to_owned(),
    };
    let mut pieces = Vec::new();
    for i in drawn(explanation) {
        if !pieces.is_empty() {
            pieces.push(Piece::Sign(between.to_owned()));
        }
        pieces.push(Piece::Cuboid(Box::new(operand(explanation, view, i, lang))));
    }
    if explanation.error().is_some() {
        pieces.push(Piece::Cross(disagreement(explanation, columns)));
    } else if let Some(result) = result(explanation, columns, lang) {
        pieces.push(Piece::Sign(before_result));
        pieces.push(Piece::Cuboid(Box::new(result)));
    }
    pieces
}

/// The text below the cross: `2 ≠ 3`, or the shape that the target does not have.
fn disagreement(explanation: &Explanation, columns: &[Column]) -> String {
    let misfit = columns.iter().rev().find(|column| column.result.is_none());
    match (explanation.error(), misfit) {
        (Some(ShapeError::InPlace { broadcast, .. }), _) => format!("≠ {}", shape_text(broadcast)),
        (_, Some(column)) => {
            let sizes = column.sizes.iter().flatten().filter(|size| **size != 1);
            let mut sizes: Vec<String> = sizes.map(Size::to_string).collect();
            sizes.dedup();
            sizes.truncate(3);
            sizes.join(" ≠ ")
        }
        _ => String::new(),
    }
}

/// The operands that are drawn: the first ones, and always those that disagree.
fn drawn(explanation: &Explanation) -> Vec<usize> {
    let mut drawn: Vec<usize> = (0..explanation.operands().len().min(DRAWN)).collect();
    if let Some((a, b)) = explanation.error().and_then(|error| error.diagnostic().operands) {
        for (place, operand) in [(DRAWN - 2, a), (DRAWN - 1, b)] {
            if operand >= DRAWN {
                drawn[place] = operand;
            }
        }
        drawn.sort_unstable();
        drawn.dedup();
    }
    drawn
}

fn operand<'a>(explanation: &'a Explanation, view: &View<'a>, i: usize, lang: Lang) -> Cuboid<'a> {
    let (operand, name) = (&explanation.operands()[i], &explanation.names()[i]);
    let body = view.operand(i);
    let ndim = explanation.operands().iter().map(|operand| operand.shape.len()).max().unwrap_or(0);
    let offset = offsets(&operand.shape, ndim, view);
    let values = operand.known_values().filter(|values| is_short(values));
    Cuboid {
        caption: caption(body.slices, lang),
        body,
        operand: Some(i),
        hue: hue(i),
        name: label(name, "…"),
        shape: shape_text(&operand.shape),
        value: Box::new(move |at| values?.get(offset(at)?).cloned()),
        tooltip: Box::new(move |axis: &Axis| {
            let (name, dim) = (name.as_str(), axis.dim.to_string());
            let to = axis.result.unwrap_or(axis.extent).to_string();
            match axis.role {
                Role::Added => say!(lang, "arrow-added", name = name, dim = dim, to = to),
                _ => say!(lang, "arrow-stretched", name = name, dim = dim, to = to),
            }
        }),
    }
}

fn result<'a>(explanation: &'a Explanation, columns: &[Column], lang: Lang) -> Option<Cuboid<'a>> {
    let shape = explanation.result_sizes()?;
    // Dimensions that are gone take no room, so that it is drawn as a tensor of its own shape.
    let left: Vec<Column> =
        columns.iter().filter(|column| column.reduced != Some("·")).map(Column::left).collect();
    let view = View::new(explanation, &left);
    let body = view.result()?;
    let offset = offsets(&shape, shape.len(), &view);
    let values = explanation.options().result.as_deref();
    let values =
        values.filter(|values| values.len() as Size == shape.iter().product::<Size>() && is_short(values));
    let name = match (explanation.options().in_place, explanation.names().first()) {
        (true, Some(target)) => label(target, "…"),
        _ => say!(lang, "result"),
    };
    Some(Cuboid {
        caption: caption(body.slices, lang),
        body,
        operand: None,
        hue: 0,
        name,
        shape: shape_text(&shape),
        value: Box::new(move |at| values?.get(offset(at)?).cloned()),
        tooltip: Box::new(|_| String::new()),
    })
}

/// Maps an index of depth, row and column to the offset of the element in a contiguous tensor of a shape,
/// which is aligned at the right with `ndim` dimensions.
fn offsets(shape: &[Size], ndim: usize, view: &View<'_>) -> impl Fn([Size; 3]) -> Option<usize> + use<> {
    let stride = |axis: Option<usize>| {
        let own = axis?.checked_sub(ndim - shape.len())?;
        let stride = shape[own + 1..].iter().try_fold(1, |stride: Size, &size| stride.checked_mul(size))?;
        (shape[own] != 1).then_some(stride)
    };
    let strides = view.axes.map(|axis| stride(axis).unwrap_or(0));
    move |at| {
        let steps = at.iter().zip(strides).map(|(index, stride)| index.checked_mul(stride));
        steps.sum::<Option<Size>>()?.try_into().ok()
    }
}

fn is_short(values: &[String]) -> bool {
    values.iter().all(|value| value.chars().count() <= LONGEST_VALUE)
}

/// The characters of the longest element that is drawn on a cube.
fn longest_value(explanation: &Explanation) -> usize {
    let operands = explanation.operands().iter().filter_map(|operand| operand.known_values());
    let lists = operands.chain(explanation.options().result.as_deref()).filter(|values| is_short(values));
    lists.flatten().map(|value| value.chars().count()).max().unwrap_or(0)
}

fn caption(slices: Option<(u128, Option<u128>)>, lang: Lang) -> Option<String> {
    let (own, seen) = slices?;
    Some(match (own, seen) {
        (1, Some(seen)) if seen > 1 => say!(lang, "slice-shared", count = count(seen)),
        (own, _) => say!(lang, "slice-of", count = count(own)),
    })
}

fn shape_text(shape: &[Size]) -> String {
    let text = tuple(shape);
    if text.chars().count() <= LONGEST_SHAPE { text } else { format!("({}-d)", shape.len()) }
}

fn draw_cross(canvas: &mut Canvas, (x, y): (f64, f64), why: &str) {
    const ARM: f64 = 13.0;
    let mut cross = Path::default();
    cross.line(&[(x - ARM, y - ARM), (x + ARM, y + ARM)]);
    cross.line(&[(x - ARM, y + ARM), (x + ARM, y - ARM)]);
    canvas.open("zs-wrong", &[]);
    canvas.path("zs-cross", &cross);
    canvas.text("zs-code zs-strong zs-hue-text", (x, y + 40.0), Anchor::Middle, why);
    canvas.close();
}

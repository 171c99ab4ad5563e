//! Owns the drawing of one operand, or of the result, as cubes: its own elements are solid, stretched ones
//! outlines; arrows run along stretched dimensions, measures along the others; slices are a pile of cards. It
//! does not know what is beside it (`row.rs`).

use std::collections::BTreeMap;

use zerostride_shape::{Role, Size};

use super::canvas::{Anchor, Canvas, Path};
use super::view::{Axis, Body, Slot};

/// The width of a gap, as a part of a cell.
const GAP: f64 = 0.8;
/// The offset of the next layer to the right and upwards, in cells.
const DEPTH: (f64, f64) = (0.38, 0.32);
/// The distance between a cuboid and its arrows.
const OFF: f64 = 9.0;
/// The padding of a card, and the visible edge of the next card of a pile.
const CARD: (f64, f64) = (10.0, 5.0);
/// The widths of a character of a label and of a small one.
pub(super) const LABEL_CHARACTER: f64 = 7.9;
const SMALL_CHARACTER: f64 = 6.6;

/// What is drawn, and the text on and around it.
pub(super) struct Cuboid<'a> {
    pub(super) body: Body,
    /// The operand, written as an attribute; `None` for the result.
    pub(super) operand: Option<usize>,
    pub(super) hue: usize,
    /// The name and the shape above.
    pub(super) name: String,
    pub(super) shape: String,
    /// The element at an index of depth, row and column.
    pub(super) value: Box<dyn Fn([Size; 3]) -> Option<String> + 'a>,
    /// The text below it about slices.
    pub(super) caption: Option<String>,
    /// The tooltip of the arrow along a dimension.
    pub(super) tooltip: Box<dyn Fn(&Axis) -> String + 'a>,
}

/// The size of a cell.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The space that a cuboid takes around the upper left corner of its front.
pub(super) struct Extent {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) above: f64,
    pub(super) below: f64,
    /// The height of the front.
    pub(super) front: f64,
}

impl Cuboid<'_> {
    pub(super) fn extent(&self, cell: Cell) -> Extent {
        let [width, height] = self.front(cell);
        let (depth_x, depth_y) = self.depth(cell);
        let label = |kind: usize| {
            self.axis(kind).map_or(0, |axis| label(axis).chars().count()) as f64 * LABEL_CHARACTER
        };
        let (_, rows, columns) = (label(0), label(1), label(2));
        let card = if self.body.slices.is_some() { CARD.0 + 2.0 * CARD.1 } else { 0.0 };
        let side = if rows > 0.0 { rows + OFF + 8.0 } else { 0.0 };
        let depth_label = (label(0) + OFF - depth_x / 2.0 + 6.0).max(0.0);
        let left = side.max(if label(0) > 0.0 { depth_label } else { 0.0 }) + card.min(CARD.0);
        let right = depth_x + card + 4.0;
        // Names and captions are centred on the front and may be wider than it.
        let name = (self.name.chars().count() + self.shape.chars().count() + 1) as f64 * LABEL_CHARACTER;
        let caption = self.caption.as_deref().map_or(0, |text| text.chars().count()) as f64 * SMALL_CHARACTER;
        let beyond = (name.max(caption).max(columns) - width).max(0.0) / 2.0;
        Extent {
            left: left.max(beyond),
            right: right.max(beyond),
            above: depth_y + card + 26.0,
            below: if columns > 0.0 { 28.0 } else { 6.0 }
                + card.min(CARD.0)
                + if self.caption.is_some() { 17.0 } else { 0.0 },
            front: height,
        }
    }

    /// The width of the front.
    pub(super) fn width(&self, cell: Cell) -> f64 {
        self.front(cell)[0]
    }

    /// Draws the cuboid with the upper left corner of its front at a point.
    pub(super) fn draw(&self, canvas: &mut Canvas, cell: Cell, (x, y): (f64, f64)) {
        let operand = self.operand.map(|operand| operand.to_string());
        let attributes: Vec<(&str, &str)> = operand.iter().map(|i| ("data-operand", i.as_str())).collect();
        canvas.open(&format!("zs-operand zs-hue-{}", self.hue), &attributes);
        let [width, height] = self.front(cell);
        let (_, depth_y) = self.depth(cell);
        let extent = self.extent(cell);
        self.draw_cards(canvas, &extent, [x, y, width, height]);
        let centre = x + width / 2.0;
        self.draw_name(canvas, (centre, y - extent.above + 12.0));
        if self.body.is_empty {
            self.draw_nothing(canvas, [x, y, width, height]);
        } else {
            self.draw_cubes(canvas, cell, (x, y));
        }
        if let Some(axis) = self.axis(2) {
            let at = y + height + OFF;
            let text = ((centre, at + 16.0), Anchor::Middle);
            self.draw_measure(canvas, axis, [(x, at), (x + width, at)], text);
        }
        if let Some(axis) = self.axis(1) {
            let at = x - OFF;
            let text = ((at - 7.0, y + height / 2.0 + 4.5), Anchor::End);
            self.draw_measure(canvas, axis, [(at, y), (at, y + height)], text);
        }
        if let Some(axis) = self.axis(0) {
            let (depth_x, _) = self.depth(cell);
            let (from, to) = ((x - 6.0, y - 7.0), (x - 6.0 + depth_x, y - 7.0 - depth_y));
            let text = (((from.0 + to.0) / 2.0 - 8.0, (from.1 + to.1) / 2.0 + 1.0), Anchor::End);
            self.draw_measure(canvas, axis, [from, to], text);
        }
        if let Some(caption) = &self.caption {
            canvas.text(
                "zs-small zs-faint",
                (centre, y + height + extent.below - 4.0),
                Anchor::Middle,
                caption,
            );
        }
        canvas.close();
    }

    /// The axis, if there is anything to draw along it.
    fn axis(&self, kind: usize) -> Option<&Axis> {
        let axis = self.body.axes[kind].as_ref()?;
        let is_seen = axis.extent != 1 || axis.result != Some(1) || axis.misfit;
        is_seen.then_some(axis)
    }

    fn slots(&self, kind: usize) -> &[Slot] {
        self.body.axes[kind].as_ref().map_or(&[Slot::At(0)], |axis| &axis.slots)
    }

    fn front(&self, cell: Cell) -> [f64; 2] {
        let length = |kind: usize| self.slots(kind).iter().map(|slot| units(*slot)).sum::<f64>().max(1.0);
        [length(2) * cell.width, length(1) * cell.height]
    }

    /// The offset of the deepest layer to the right and upwards.
    fn depth(&self, cell: Cell) -> (f64, f64) {
        let layers = self.slots(0).iter().map(|slot| units(*slot)).sum::<f64>().max(1.0);
        let size = cell.height;
        (layers * DEPTH.0 * size, layers * DEPTH.1 * size)
    }

    /// The name and the shape, centred together; only approximately, as the reader's fonts are unknown.
    fn draw_name(&self, canvas: &mut Canvas, (centre, y): (f64, f64)) {
        let (name, shape) = (self.name.chars().count() as f64, self.shape.chars().count() as f64);
        let between = centre + (name - shape) * LABEL_CHARACTER / 2.0;
        canvas.text("zs-code zs-strong zs-hue-text", (between - 4.0, y), Anchor::End, &self.name);
        canvas.text("zs-code zs-faint", (between + 4.0, y), Anchor::Start, &self.shape);
    }

    /// One card for the slice that is drawn, and two behind it for the others.
    fn draw_cards(&self, canvas: &mut Canvas, extent: &Extent, [x, y, width, height]: [f64; 4]) {
        let Some((own, _)) = self.body.slices else { return };
        let (padding, step) = CARD;
        let caption = if self.caption.is_some() { 17.0 } else { 0.0 };
        let left = x - extent.left;
        let top = y - extent.above + 20.0 + 2.0 * step;
        let size = [
            extent.left + width + extent.right - 2.0 * step - 2.0,
            extent.above - 20.0 - 2.0 * step + height + extent.below - caption - padding + 6.0,
        ];
        let class = if own == 1 { "zs-card zs-shared" } else { "zs-card" };
        for card in [2.0, 1.0, 0.0] {
            canvas.rect(class, [left + card * step, top - card * step, size[0], size[1]]);
        }
    }

    /// The outline of a cuboid without elements.
    fn draw_nothing(&self, canvas: &mut Canvas, [x, y, width, height]: [f64; 4]) {
        let mut outline = Path::default();
        outline.polygon(&[(x, y), (x + width, y), (x + width, y + height), (x, y + height)]);
        canvas.open("zs-ghost", &[]);
        canvas.path("zs-hue zs-top", &outline);
        canvas.close();
        canvas.text("zs-hue-text", (x + width / 2.0, y + height / 2.0 + 5.0), Anchor::Middle, "∅");
    }

    fn draw_cubes(&self, canvas: &mut Canvas, cell: Cell, (x, y): (f64, f64)) {
        let mut parts: BTreeMap<(Vec<usize>, bool), Part> = BTreeMap::new();
        let (depth_x, depth_y) = (DEPTH.0 * cell.height, DEPTH.1 * cell.height);
        let places = |kind: usize| {
            let mut at = 0.0;
            let place = |slot: &Slot| {
                let start = at;
                at += units(*slot);
                (start, *slot)
            };
            self.slots(kind).iter().map(place).collect::<Vec<_>>()
        };
        let (layers, rows, columns) = (places(0), places(1), places(2));
        for (z, layer) in &layers {
            for (i, (down, row)) in rows.iter().enumerate() {
                for (j, (right, column)) in columns.iter().enumerate() {
                    let faces = [*z == 0.0, i == 0, j + 1 == columns.len()];
                    if !faces.contains(&true) {
                        continue;
                    }
                    let slots = [*layer, *row, *column];
                    let part = parts.entry((self.spread(slots), slots.contains(&Slot::Gap))).or_default();
                    let left = x + right * cell.width + z * depth_x;
                    let top = y + down * cell.height - z * depth_y;
                    let size = [
                        units(*column) * cell.width,
                        units(*row) * cell.height,
                        units(*layer) * depth_x,
                        units(*layer) * depth_y,
                    ];
                    part.add([left, top], size, faces);
                    if let ([true, ..], [Slot::At(z), Slot::At(row), Slot::At(column)]) = (faces, slots)
                        && let Some(value) = (self.value)([z, row, column])
                    {
                        let centre = (left + size[0] / 2.0, top + size[1] / 2.0 + 4.2);
                        part.values.push((centre, value));
                    }
                }
            }
        }
        for ((dims, is_gap), part) in &parts {
            let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
            let operand = self.operand.map(|operand| operand.to_string());
            let mut attributes = Vec::new();
            if let (Some(operand), false) = (&operand, dims.is_empty()) {
                attributes.push(("data-operand", operand.clone()));
                attributes.push(("data-dims", dims.join(" ")));
            }
            let attributes: Vec<(&str, &str)> =
                attributes.iter().map(|(name, value)| (*name, &**value)).collect();
            let class = match (dims.is_empty(), is_gap) {
                (true, false) => "zs-own",
                (true, true) => "zs-own zs-gap",
                (false, false) => "zs-ghost",
                (false, true) => "zs-ghost zs-gap",
            };
            canvas.open(class, &attributes);
            part.draw(canvas);
            canvas.close();
        }
        self.draw_dots(canvas, cell, (x, y), &rows, &columns);
    }

    /// The dimensions along which a cell repeats one that the operand has elsewhere.
    fn spread(&self, slots: [Slot; 3]) -> Vec<usize> {
        let moved = |(axis, slot): (&Option<Axis>, Slot)| {
            axis.as_ref().filter(|axis| axis.is_spread() && slot != Slot::At(0)).map(|axis| axis.dim)
        };
        self.body.axes.iter().zip(slots).filter_map(moved).collect()
    }

    /// Dots in the gaps of the front.
    fn draw_dots(
        &self,
        canvas: &mut Canvas,
        cell: Cell,
        (x, y): (f64, f64),
        rows: &[(f64, Slot)],
        columns: &[(f64, Slot)],
    ) {
        for (down, row) in rows {
            for (right, column) in columns {
                let sign = match (row, column) {
                    (Slot::Gap, Slot::Gap) => "⋱",
                    (Slot::Gap, _) => "⋮",
                    (_, Slot::Gap) => "⋯",
                    _ => continue,
                };
                let centre = (
                    x + (right + units(*column) / 2.0) * cell.width,
                    y + (down + units(*row) / 2.0) * cell.height + 5.0,
                );
                canvas.text("zs-hue-text", centre, Anchor::Middle, sign);
            }
        }
    }

    /// The line along an axis with the size; an arrow where the operand is stretched.
    fn draw_measure(
        &self,
        canvas: &mut Canvas,
        axis: &Axis,
        [from, to]: [(f64, f64); 2],
        (place, anchor): ((f64, f64), Anchor),
    ) {
        let is_stretched = axis.role != Role::Kept;
        let class = match (axis.role, axis.misfit) {
            (Role::Added, false) => "zs-arrow zs-added",
            (Role::Stretched, false) => "zs-arrow zs-stretched",
            (Role::Kept, false) => "zs-measure",
            (Role::Kept, true) => "zs-arrow zs-misfit zs-wrong",
            (Role::Added, true) => "zs-arrow zs-added zs-misfit zs-wrong",
            (Role::Stretched, true) => "zs-arrow zs-stretched zs-misfit zs-wrong",
        };
        let (dim, operand) = (axis.dim.to_string(), self.operand.map(|operand| operand.to_string()));
        let mut attributes = vec![("data-dims", dim.as_str())];
        attributes.extend(operand.iter().map(|i| ("data-operand", i.as_str())));
        canvas.open(class, &attributes);
        if is_stretched {
            canvas.tooltip(&(self.tooltip)(axis));
            draw_arrow(canvas, from, to);
        } else {
            let mut line = Path::default();
            line.line(&[from, to]);
            let across = normal(from, to, 3.0);
            for (x, y) in [from, to] {
                line.line(&[(x - across.0, y - across.1), (x + across.0, y + across.1)]);
            }
            canvas.path(if axis.misfit { "zs-shaft" } else { "zs-line" }, &line);
        }
        let class = if is_stretched || axis.misfit { "zs-code" } else { "zs-code zs-faint" };
        canvas.text(class, place, anchor, &label(axis));
        canvas.close();
    }
}

/// The faces of cells of one kind, and the values on them.
#[derive(Default)]
struct Part {
    front: Path,
    top: Path,
    side: Path,
    values: Vec<((f64, f64), String)>,
}

impl Part {
    /// Adds the cell with the upper left corner of its front at a point. `size` is its width and height, and
    /// the offset of its back to the right and upwards; `faces` says which of front, top and right side are
    /// visible.
    fn add(&mut self, [x, y]: [f64; 2], size: [f64; 4], faces: [bool; 3]) {
        let [width, height, back_x, back_y] = size;
        let (right, bottom) = (x + width, y + height);
        let back = |(x, y): (f64, f64)| (x + back_x, y - back_y);
        if faces[0] {
            self.front.polygon(&[(x, y), (right, y), (right, bottom), (x, bottom)]);
        }
        if faces[1] {
            self.top.polygon(&[(x, y), (right, y), back((right, y)), back((x, y))]);
        }
        if faces[2] {
            self.side.polygon(&[(right, y), back((right, y)), back((right, bottom)), (right, bottom)]);
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        for (class, path) in
            [("zs-hue zs-front", &self.front), ("zs-hue zs-top", &self.top), ("zs-hue zs-side", &self.side)]
        {
            if !path.is_empty() {
                canvas.path(class, path);
            }
        }
        for (centre, value) in &self.values {
            canvas.text("zs-value", *centre, Anchor::Middle, value);
        }
    }
}

/// The length of a slot along an axis, in cells.
fn units(slot: Slot) -> f64 {
    match slot {
        Slot::At(_) => 1.0,
        Slot::Gap => GAP,
    }
}

/// The size along an axis, or how it is stretched.
fn label(axis: &Axis) -> String {
    match (axis.role, axis.own, axis.result) {
        (Role::Stretched | Role::Added, Some(own), Some(result)) => format!("{own}→{result}"),
        (Role::Stretched | Role::Added, None, Some(result)) => format!("·→{result}"),
        (_, own, _) => own.unwrap_or(1).to_string(),
    }
}

/// A vector of a given length, perpendicular to a line.
fn normal(from: (f64, f64), to: (f64, f64), length: f64) -> (f64, f64) {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let norm = x.hypot(y).max(1e-9);
    (-y / norm * length, x / norm * length)
}

fn draw_arrow(canvas: &mut Canvas, from: (f64, f64), to: (f64, f64)) {
    const HEAD: f64 = 7.0;
    let (across_x, across_y) = normal(from, to, HEAD / 2.0);
    // Along the line: the length of the arrow head.
    let (along_x, along_y) = (across_y * 2.0, -across_x * 2.0);
    let neck = (to.0 - along_x, to.1 - along_y);
    let (mut shaft, mut head) = (Path::default(), Path::default());
    shaft.line(&[from, neck]);
    head.polygon(&[to, (neck.0 + across_x, neck.1 + across_y), (neck.0 - across_x, neck.1 - across_y)]);
    canvas.path("zs-shaft", &shaft);
    canvas.path("zs-head", &head);
}

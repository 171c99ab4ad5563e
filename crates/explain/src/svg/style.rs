//! Owns the fonts, strokes and colour rules of the picture, as a style sheet that applies to nothing outside
//! it. It does not know the colours (`theme.rs`).

use std::fmt::Write as _;

use crate::theme::{self, Palette};

/// Fonts and strokes, which are the same in every theme.
const FORM: &str = "\
@media screen{.zs-picture{max-width:100%;height:auto}}
.zs-picture{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif}
.zs-picture text{font-size:13px}
.zs-picture .zs-title{font-size:15px;font-weight:600}
.zs-picture .zs-code,.zs-picture .zs-value{font-family:'DejaVu Sans Mono',ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.zs-picture .zs-value{font-size:12px}
.zs-picture .zs-small{font-size:12px}
.zs-picture .zs-strong{font-weight:700}
.zs-picture .zs-sign{font-size:24px}
.zs-picture path{stroke-width:1.2;stroke-linejoin:round;stroke-linecap:round}
.zs-picture .zs-front{fill-opacity:.3}
.zs-picture .zs-top{fill-opacity:.17}
.zs-picture .zs-side{fill-opacity:.45}
.zs-picture .zs-ghost path{stroke-opacity:.5;stroke-dasharray:3 2.5;stroke-width:1}
.zs-picture .zs-ghost .zs-front{fill-opacity:.07}
.zs-picture .zs-ghost .zs-top{fill-opacity:.04}
.zs-picture .zs-ghost .zs-side{fill-opacity:.11}
.zs-picture .zs-ghost .zs-value{opacity:.65}
.zs-picture .zs-gap path{stroke:none}
.zs-picture .zs-hue{fill:currentColor;stroke:currentColor}
.zs-picture .zs-hue-text{fill:currentColor}
.zs-picture .zs-arrow path{fill:none;stroke:currentColor;stroke-width:2}
.zs-picture .zs-arrow .zs-head{fill:currentColor;stroke-width:1}
.zs-picture .zs-arrow text{fill:currentColor;font-weight:600}
.zs-picture .zs-added .zs-shaft{stroke-dasharray:1 4}
.zs-picture .zs-tint{fill:currentColor;stroke:currentColor;fill-opacity:.16}
.zs-picture .zs-added .zs-tint{fill-opacity:.05;stroke-dasharray:3 2.5}
.zs-picture .zs-wrong .zs-card{fill:currentColor;fill-opacity:.13;stroke:currentColor;stroke-width:2}
.zs-picture .zs-box.zs-stretched text,.zs-picture .zs-box.zs-added text,.zs-picture .zs-box.zs-wrong text{fill:currentColor;font-weight:600}
.zs-picture .zs-cross{fill:none;stroke:currentColor;stroke-width:5}
.zs-picture .zs-shared{stroke-dasharray:3 2.5}
";

/// The colours of a theme, for pictures under `scope`.
fn colours(css: &mut String, scope: &str, palette: &Palette) {
    let Palette { ground, card, ink, faint, line, wrong, hues } = palette;
    let mut rule = |selector: &str, rule: String| {
        writeln!(css, "{scope}.zs-picture{selector}{{{rule}}}").expect("a String takes all text");
    };
    // Text inherits its colour, so that elements can set their own.
    rule("", format!("fill:{ink}"));
    rule(" .zs-ground", format!("fill:{ground}"));
    rule(" .zs-faint", format!("fill:{faint}"));
    rule(" .zs-line", format!("fill:none;stroke:{line}"));
    rule(" .zs-card", format!("fill:{card};stroke:{line}"));
    for (i, hue) in hues.iter().enumerate() {
        rule(&format!(" .zs-hue-{i}"), format!("color:{hue}"));
    }
    rule(" .zs-wrong", format!("color:{wrong}"));
}

/// The whole style sheet.
pub(super) fn sheet() -> String {
    theme::sheet(colours) + FORM
}

//! Owns the look of a report, as a style sheet that applies to nothing outside it. It does not know the
//! colours (`theme.rs`).

use std::fmt::Write as _;

use crate::theme::{self, Palette};

const FORM: &str = "\
.zs-report{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;color:var(--zs-ink);\
background:var(--zs-ground);max-width:760px;padding:20px;border-radius:8px;box-sizing:border-box;overflow-wrap:anywhere}
.zs-report h1{font-size:1.25em;margin:0 0 .6em}
.zs-report h2{font-size:1em;margin:1.6em 0 .4em}
.zs-report p{margin:.4em 0}
.zs-report figure{margin:0 -18px;overflow-x:auto}
.zs-report code,.zs-report pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
.zs-report pre{margin:0;padding:.6em .9em;background:var(--zs-card);border:1px solid var(--zs-line);border-radius:6px;\
overflow-x:auto}
.zs-report .zs-error{color:var(--zs-wrong);font-weight:600}
.zs-report .zs-misfit{color:var(--zs-wrong)}
.zs-report .zs-who,.zs-report small{color:var(--zs-faint)}
.zs-report small{display:block;font-size:.9em}
.zs-report table{border-collapse:collapse;margin:.4em 0}
.zs-report th,.zs-report td{text-align:left;vertical-align:top;padding:.2em 1.2em .2em 0;font-weight:400;\
overflow-wrap:normal}
.zs-report .zs-account td{white-space:nowrap;font-variant-numeric:tabular-nums}
.zs-report .zs-account thead th,.zs-report .zs-rows th{color:var(--zs-faint);white-space:nowrap}
.zs-report .zs-account tbody tr{border-top:1px solid var(--zs-line)}
.zs-report .zs-scroll{overflow-x:auto}
.zs-report .zs-matrices{display:flex;flex-wrap:wrap;align-items:center;gap:.8em;color:var(--zs-faint)}
.zs-report .zs-matrices pre{color:var(--zs-ink)}
.zs-report .zs-note{margin:1.6em 0 0;padding:.7em 1em;background:var(--zs-card);border-left:4px solid var(--zs-hue);\
border-radius:0 6px 6px 0}
.zs-report ol{margin:.4em 0;padding-left:1.6em}
.zs-report li{margin:.3em 0}
.zs-report li code{font-weight:600;background:var(--zs-card);border:1px solid var(--zs-line);border-radius:5px;\
padding:.1em .4em}
";

fn colours(css: &mut String, scope: &str, palette: &Palette) {
    let Palette { ground, card, ink, faint, line, wrong, hues } = palette;
    writeln!(
        css,
        "{scope}.zs-report{{--zs-ground:{ground};--zs-card:{card};--zs-ink:{ink};--zs-faint:{faint};--zs-line:{line};\
         --zs-wrong:{wrong};--zs-hue:{}}}",
        hues[2]
    )
    .expect("a String takes all text");
}

/// The whole style sheet.
pub(super) fn sheet() -> String {
    theme::sheet(colours) + FORM
}

/// Rules that highlight, while the pointer is on a step or on a part of the picture, everything of the same
/// dimension: the parts of other dimensions fade.
pub(super) fn highlights(ndim: usize) -> String {
    let mut css = String::new();
    for dim in 0..ndim {
        let pointed = format!(".zs-report:has([data-dims=\"{dim}\"]:hover)");
        writeln!(css, "{pointed} .zs-picture [data-dims]:not([data-dims~=\"{dim}\"]){{opacity:.2}}")
            .expect("a String takes all text");
        writeln!(css, "{pointed} tr[data-dims~=\"{dim}\"]{{background:var(--zs-card)}}")
            .expect("a String takes all text");
    }
    css
}

/// The style sheet of a page that contains only a report.
pub(super) fn page() -> String {
    let ground = |css: &mut String, scope: &str, palette: &Palette| {
        writeln!(css, "{scope}body{{background:{}}}", palette.ground).expect("a String takes all text");
    };
    theme::sheet(ground) + "body{margin:0;display:flex;justify-content:center}\n"
}

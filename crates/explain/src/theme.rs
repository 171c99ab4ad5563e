//! Owns the colours of pictures and reports, in light and in dark, and the choice between them. It does not
//! know what has which colour (`svg/style.rs`, `html/style.rs`).

/// The colours of a theme.
pub(crate) struct Palette {
    pub(crate) ground: &'static str,
    pub(crate) card: &'static str,
    pub(crate) ink: &'static str,
    pub(crate) faint: &'static str,
    pub(crate) line: &'static str,
    pub(crate) wrong: &'static str,
    /// The colour of the result, then those that operands take in turn.
    pub(crate) hues: [&'static str; 1 + HUES],
}

/// How many operands have a colour of their own.
const HUES: usize = 4;

/// The number of an operand's colour.
pub(crate) fn hue(operand: usize) -> usize {
    1 + operand % HUES
}

const LIGHT: Palette = Palette {
    ground: "#ffffff",
    card: "#f6f7f9",
    ink: "#1b1f27",
    faint: "#667080",
    line: "#c5cbd5",
    wrong: "#c4232b",
    hues: ["#4d5766", "#1f66d1", "#c2570a", "#0b8563", "#8640bf"],
};

const DARK: Palette = Palette {
    ground: "#12161d",
    card: "#1a2029",
    ink: "#e8ebf0",
    faint: "#98a2b3",
    line: "#465063",
    wrong: "#ff7b7b",
    hues: ["#b3bdcb", "#6aa8ff", "#ffa04d", "#41cfa0", "#c792f5"],
};

/// The rules of both themes; `rules` writes those of one theme under a scope. The reader's setting chooses
/// between light and dark, or an enclosing element with `data-theme` (JupyterLab: `data-jp-theme-light`).
pub(crate) fn sheet(mut rules: impl FnMut(&mut String, &str, &Palette)) -> String {
    let mut css = String::new();
    rules(&mut css, "", &LIGHT);
    css.push_str("@media (prefers-color-scheme:dark){\n");
    rules(&mut css, "", &DARK);
    css.push_str("}\n");
    rules(&mut css, ":is([data-theme=light],[data-jp-theme-light=true]) ", &LIGHT);
    rules(&mut css, ":is([data-theme=dark],[data-jp-theme-light=false]) ", &DARK);
    css
}

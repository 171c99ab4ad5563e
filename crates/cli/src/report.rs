//! Owns the drawing of a failure on the terminal: the message, the text with the mistake underlined, the
//! advice, the explanation of shapes. It does not know what failed.

use std::io::{self, Write};

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::expr::Span;
use crate::failure::{Excerpt, Report, Status};
use crate::terminal;
use crate::words::say;

/// Bytes of a text that are shown before and after a mistake, and of the mistake itself.
const AROUND: usize = 60;

/// Bytes of the longest name that is shown whole, such as a checksum.
const LONGEST_NAME: usize = 80;

/// Draws a failure.
pub(crate) fn draw(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    match report.status {
        Status::Unknown => draw_as(&Level::NOTE.with_name(say!("note")), report, out),
        _ => draw_as(&Level::ERROR.with_name(say!("error")), report, out),
    }
}

/// Draws a warning.
pub(crate) fn draw_warning(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    draw_as(&Level::WARNING.with_name(say!("warning")), report, out)
}

fn draw_as(level: &Level<'_>, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let excerpt = report.excerpt.as_ref().map(clip);
    let message = shortened(&report.message);
    let help: Vec<String> = report.help.iter().map(|help| shortened(help)).collect();
    let mut primary = Group::with_title(level.clone().primary_title(&message));
    if let Some(Excerpt { text, span }) = &excerpt {
        let annotation = AnnotationKind::Primary.span(span.start..span.end);
        primary = primary.element(Snippet::source(text).line_numbering(false).annotation(annotation));
    }
    let help =
        help.iter().map(|help| Group::with_title(Level::HELP.with_name(say!("help")).secondary_title(help)));
    let groups: Vec<Group<'_>> = std::iter::once(primary).chain(help).collect();
    let renderer = Renderer::styled().decor_style(DecorStyle::Ascii).term_width(terminal::width());
    // The renderer joins groups by a line, which only an excerpt can start.
    let together = if excerpt.is_some() { groups.len() } else { 1 };
    for groups in groups.chunks(together) {
        writeln!(out, "{}", renderer.render(groups))?;
    }
    if let Some(explanation) = &report.explanation {
        // The first line is the error's message, which has been printed.
        let text = explanation.text(&terminal::page());
        write!(out, "{}", text.split_once('\n').map_or("", |(_, rest)| rest))?;
    }
    Ok(())
}

/// The text with very long names and numbers shortened.
pub(crate) fn shortened(text: &str) -> String {
    let mut short = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let name = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if name > LONGEST_NAME {
            short += &rest[..boundary(rest, LONGEST_NAME / 2)];
            short += "...";
        } else {
            short += &rest[..name];
        }
        let next = rest[name..].chars().next().map_or(0, char::len_utf8);
        short += &rest[name..name + next];
        rest = &rest[name + next..];
    }
    short
}

/// The part of a long text around the mistake.
fn clip(excerpt: &Excerpt) -> Excerpt {
    let Excerpt { text, span } = excerpt;
    if text.len() <= 4 * AROUND {
        return Excerpt { text: text.clone(), span: *span };
    }
    let start = boundary(text, span.start.saturating_sub(AROUND));
    let last = boundary(text, span.end.min(span.start + AROUND));
    let end = boundary(text, last + AROUND);
    let (before, after) = (if start > 0 { "..." } else { "" }, if end < text.len() { "..." } else { "" });
    let moved = |at: usize| at - start + before.len();
    Excerpt {
        text: format!("{before}{}{after}", &text[start..end]),
        span: Span { start: moved(span.start), end: moved(last.max(span.start)) },
    }
}

/// The last character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monstrous_names_are_cut_and_others_are_not() {
        let checksum = "0123456789abcdef".repeat(4);
        let line = format!("{checksum}.npy: `é` is not +");
        assert_eq!(shortened(&line), line);
        assert_eq!(
            shortened(&format!("`{}`, too", "é".repeat(500))),
            format!("`{}...`, too", "é".repeat(20))
        );
    }

    #[test]
    fn long_texts_are_cut_around_the_mistake() {
        let text = "é".repeat(500) + "BAD" + &"x".repeat(500);
        let at = text.find("BAD").unwrap();
        let clipped = clip(&Excerpt { text: text.clone(), span: (at..at + 3).into() });
        assert_eq!(&clipped.text[clipped.span.start..clipped.span.end], "BAD");
        assert!(clipped.text.len() < 4 * AROUND);

        let all = clip(&Excerpt { text: "9".repeat(10_000_000), span: (0..10_000_000).into() });
        assert!(all.text.len() < 4 * AROUND);
        assert_eq!(all.span, (0..AROUND).into());
    }
}

//! Owns the report: a story as HTML with the picture, as a part of a page or as a self-contained page. It
//! does not know the sentences (`story/`) nor the picture (`svg/`).

mod style;

use std::fmt::{Display, Write as _};

use crate::explanation::Explanation;
use crate::lang::{Lang, say};
use crate::markup::Escaped;
use crate::story::{Account, Block, Equation, Headline, Matrix, Offer, Row, Story, Stretch};
use crate::svg::picture;

impl Explanation {
    /// The explanation as a self-contained HTML page: the picture, the steps, the account, the repairs.
    ///
    /// ```
    /// use zerostride_explain::{Explanation, Lang, Operand, Options};
    ///
    /// let operands = vec![Operand::new(&[32, 10]), Operand::new(&[32])];
    /// let html = Explanation::new(operands, Options::default()).html(Lang::It);
    /// assert!(html.starts_with("<!doctype html>\n<html lang=\"it\">"));
    /// assert!(html.contains("b.unsqueeze(-1)"));
    /// ```
    pub fn html(&self, lang: Lang) -> String {
        let story = Story::new(self, lang);
        let mut page = Markup::default();
        page.write(format_args!(
            "<!doctype html>\n<html lang=\"{lang}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
             <style>\n{}</style>\n</head>\n<body>\n",
            Escaped(story.headline.line()),
            style::page()
        ));
        page.article(self, &story, lang);
        page.write("</body>\n</html>\n");
        page.0
    }

    /// The same as one element `<article class="zs-report">` with its own style, for a notebook or another
    /// page.
    pub fn html_fragment(&self, lang: Lang) -> String {
        let mut fragment = Markup::default();
        fragment.article(self, &Story::new(self, lang), lang);
        fragment.0
    }
}

/// HTML that is being written.
#[derive(Default)]
struct Markup(String);

impl Markup {
    fn write(&mut self, markup: impl Display) {
        write!(self.0, "{markup}").expect("a String takes all text");
    }

    /// An element that contains text.
    fn element(&mut self, tag: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.write(format_args!("<{tag}{class}>{}</{tag}>\n", Escaped(text)));
    }

    fn article(&mut self, explanation: &Explanation, story: &Story, lang: Lang) {
        self.write(format_args!("<article class=\"zs-report\" lang=\"{lang}\">\n"));
        let ndim = story.columns.as_ref().map_or(0, Vec::len);
        self.write(format_args!("<style>\n{}{}</style>\n", style::sheet(), style::highlights(ndim)));
        match &story.headline {
            Headline::Broadcast([full, ..]) => self.element("h1", "", full),
            Headline::Error { line, who } => {
                self.write(format_args!("<h1 class=\"zs-error\" lang=\"en\">{}</h1>\n", Escaped(line)));
                if let Some(who) = who {
                    self.element("p", "zs-who", who);
                }
            }
        }
        self.write(format_args!("<figure>\n{}</figure>\n", picture(explanation, story, lang, false)));
        for block in &story.blocks {
            self.block(block);
        }
        if let Some(repair) = explanation.repairs().first().filter(|repair| !repair.mutual_stretch) {
            let repaired = explanation.repaired(repair);
            let picture = picture(&repaired, &Story::new(&repaired, lang), lang, true);
            self.element("h2", "", &say!(lang, "after-the-first-repair"));
            self.write(format_args!("<figure>\n{picture}</figure>\n"));
        }
        self.write("</article>\n");
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Title(title) => self.element("h2", "", title),
            Block::Says(text) | Block::Alone(text) => self.element("p", "", text),
            Block::Warns(text) => self.element("p", "zs-misfit", text),
            Block::Rows(rows) => self.rows(rows),
            Block::Account(account) => self.account(account),
            Block::Stretch(Stretch { title, before, after }) => {
                self.element("h2", "", title);
                self.matrices(&[before, after], &["→"]);
            }
            Block::Equation(equation) => self.equation(equation),
            Block::Offers(offers) => self.offers(offers),
            Block::Note { label, text, instead } => {
                self.write(format_args!(
                    "<aside class=\"zs-note\" role=\"note\">\n<p><strong>{}</strong> {}</p>\n",
                    Escaped(label),
                    Escaped(text)
                ));
                if let Some((title, offers)) = instead {
                    self.element("p", "", title);
                    self.offers(offers);
                }
                self.write("</aside>\n");
            }
        }
    }

    /// The dimensions compared. Each row names its dimensions of the result in an attribute, as the parts of
    /// the picture do.
    fn rows(&mut self, rows: &[Row]) {
        self.write("<table class=\"zs-rows\">\n");
        for Row { dims: (first, last), label, text, fits } in rows {
            let dims: Vec<String> = (*last..=*first).map(|dim| dim.to_string()).collect();
            let class = if *fits { "" } else { " class=\"zs-misfit\"" };
            self.write(format_args!(
                "<tr data-dims=\"{}\"{class}><th scope=\"row\">{}</th><td>{}</td></tr>\n",
                dims.join(" "),
                Escaped(label),
                Escaped(text)
            ));
        }
        self.write("</table>\n");
    }

    fn account(&mut self, account: &Account) {
        self.write("<div class=\"zs-scroll\">\n<table class=\"zs-account\">\n<thead><tr><td></td>");
        for cell in &account.header {
            self.write(format_args!("<th scope=\"col\">{}</th>", Escaped(cell)));
        }
        self.write("</tr></thead>\n<tbody>\n");
        for (name, cells) in &account.rows {
            self.write(format_args!("<tr><th scope=\"row\"><code>{}</code></th>", Escaped(name)));
            for cell in cells {
                self.write(format_args!("<td>{}</td>", Escaped(cell)));
            }
            self.write("</tr>\n");
        }
        self.write("</tbody>\n</table>\n</div>\n");
    }

    fn equation(&mut self, equation: &Equation) {
        let Equation { title, operands, symbol, result } = equation;
        self.element("h2", "", title);
        match (&operands[..], symbol) {
            ([left, right], Some(symbol)) => self.matrices(&[left, right, result], &[symbol, "="]),
            _ => self.matrices(&[result], &[]),
        }
    }

    /// Matrices beside each other, with a sign between two.
    fn matrices(&mut self, matrices: &[&Matrix], signs: &[&str]) {
        self.write("<div class=\"zs-matrices\">\n");
        for (i, Matrix(lines)) in matrices.iter().enumerate() {
            if i > 0 {
                self.write(format_args!("<span>{}</span>\n", Escaped(signs[i - 1])));
            }
            let lines: Vec<String> = lines.iter().map(|line| Escaped(line).to_string()).collect();
            self.write(format_args!("<pre>{}</pre>\n", lines.join("\n")));
        }
        self.write("</div>\n");
    }

    /// Repairs; each names the operand that it changes in an attribute, so that a page can apply it.
    fn offers(&mut self, offers: &[Offer]) {
        self.write("<ol class=\"zs-offers\">\n");
        for Offer { operand, call, effect, advice } in offers {
            self.write(format_args!(
                "<li data-operand=\"{operand}\"><code>{}</code> {}",
                Escaped(call),
                Escaped(effect)
            ));
            if let Some(advice) = advice {
                self.write(format_args!("<small>{}</small>", Escaped(advice)));
            }
            self.write("</li>\n");
        }
        self.write("</ol>\n");
    }
}

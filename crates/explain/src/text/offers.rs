//! Owns the layout of repairs: the call, its effect beside it if there is room, and hints below. It does not
//! know the sentences (`story/repairs.rs`).

use super::sheet::{Ink, Line, Sheet, width};
use crate::story::Offer;

pub(super) fn write(offers: &[Offer], bullet: &str, sheet: &mut Sheet) {
    // The effect of a call is beside it if the calls leave half of the page.
    let room = (sheet.width() / 2).saturating_sub(width(bullet) + 3);
    let calls = offers.iter().map(|offer| width(&offer.call)).filter(|call| *call <= room);
    let column = width(bullet) + calls.max().unwrap_or(0) + 3;
    for offer in offers {
        let mut lead = Line::new().with(Ink::Plain, bullet).with(Ink::Good, &offer.call);
        if width(&offer.call) <= room {
            lead.pad_to(column);
        } else {
            sheet.paragraph(&Line::new().with(Ink::Plain, bullet), Ink::Good, &offer.call);
            lead = Line::indent(width(bullet));
        }
        sheet.paragraph(&lead, Ink::Plain, &offer.effect);
        if let Some(advice) = &offer.advice {
            sheet.paragraph(&Line::indent(width(bullet)), Ink::Faint, advice);
        }
    }
}

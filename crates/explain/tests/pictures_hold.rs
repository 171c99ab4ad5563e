//! What holds for every picture and report: well formed, nothing escapes from a name, nothing is drawn
//! outside the page, and whatever is stretched can be found.

use proptest::collection::vec;
use proptest::prelude::*;
use roxmltree::{Document, Node};
use zerostride_explain::{Explanation, Lang, Operand, Options};
use zerostride_ops::Op;
use zerostride_shape::Role;

const HOSTILE: [&str; 6] = [
    "</title><script>alert(1)</script>",
    "\"' onload='alert(1)' x=\"",
    "]]>&lt;&#0;&\u{0}\u{1b}[31m\u{202e}\u{ffff}",
    "<!--",
    "a very long name that goes on and on and on, much longer than any page is wide, without an end in sight",
    "größe",
];

fn operand() -> impl Strategy<Value = Operand> {
    let size = prop::sample::select(&[0, 1, 1, 1, 2, 3, 3, 7, 1000, usize::MAX][..]);
    (vec(size, 0..7), prop::option::of(prop::sample::select(&HOSTILE[..])), any::<bool>()).prop_map(
        |(shape, name, has_values)| {
            let numel = shape.iter().try_fold(1usize, |numel, &size| numel.checked_mul(size));
            let values = numel.filter(|numel| has_values && *numel <= 64);
            let values = values.map(|numel| vec!["<b>&".to_owned(); numel]);
            Operand { name: name.map(str::to_owned), values, ..Operand::new(&shape) }
        },
    )
}

/// The numbers in a text.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
        .filter_map(|number| number.parse().ok())
}

/// Every place that an element names lies on the page.
fn assert_on_page(node: Node<'_, '_>, width: f64, height: f64) {
    let attribute = |name: &str| node.attribute(name).and_then(|value| value.parse::<f64>().ok());
    let on_page = |x: f64, y: f64| (0.0..=width).contains(&x) && (0.0..=height).contains(&y);
    if let (Some(x), Some(y)) = (attribute("x"), attribute("y")) {
        assert!(on_page(x, y), "{node:?}");
        if let (Some(wide), Some(high)) = (attribute("width"), attribute("height")) {
            assert!(on_page(x + wide, y + high), "{node:?}");
        }
    }
    if let Some(path) = node.attribute("d") {
        let places: Vec<f64> = numbers(path).collect();
        assert!(places.chunks(2).all(|place| on_page(place[0], place[1])), "{node:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pictures_are_well_formed_and_stay_on_the_page(
        operands in vec(operand(), 1..9),
        in_place: bool,
        named: bool,
        lang in prop::sample::select(&Lang::ALL[..]),
    ) {
        let op = named.then_some(if operands.len() == 2 { Op::Add } else { Op::Where });
        let explanation = Explanation::new(operands, Options { op, in_place, ..Options::default() });
        let svg = explanation.svg(lang);
        let document = Document::parse(&svg).expect("well formed");
        let root = document.root_element();
        let (width, height) = (720.0, root.attribute("height").unwrap().parse().unwrap());
        prop_assert_eq!(root.attribute("role"), Some("img"));
        for child in ["title", "desc"] {
            prop_assert!(root.children().any(|node| node.has_tag_name(("http://www.w3.org/2000/svg", child))));
        }
        let tags = ["svg", "title", "desc", "style", "rect", "g", "path", "text"];
        for node in root.descendants().filter(Node::is_element) {
            prop_assert!(tags.contains(&node.tag_name().name()), "{:?}", node);
            prop_assert!(!node.attributes().any(|attribute| attribute.name().starts_with("on")));
            assert_on_page(node, width, height);
        }
        // Every stretched or added dimension of every operand can be found in the document.
        let Some(broadcast) = explanation.broadcast() else { return Ok(()) };
        for (i, roles) in broadcast.operands().iter().enumerate() {
            for (dim, role) in roles.iter().enumerate().filter(|(_, role)| **role != Role::Kept) {
                let class = if *role == Role::Added { "zs-added" } else { "zs-stretched" };
                let (operand, dim) = (i.to_string(), dim.to_string());
                let is_it = |node: &Node<'_, '_>| {
                    node.attribute("data-operand") == Some(&operand)
                        && node.attribute("data-dims") == Some(&dim)
                        && node.attribute("class").is_some_and(|classes| classes.split(' ').any(|one| one == class))
                };
                prop_assert!(root.descendants().any(|node| is_it(&node)), "operand {}, dim {}", operand, dim);
            }
        }
    }

    #[test]
    fn reports_hold_no_tag_that_a_name_brought(operands in vec(operand(), 1..4), lang in prop::sample::select(&Lang::ALL[..])) {
        let html = Explanation::new(operands, Options::default()).html(lang);
        prop_assert!(!html.contains("<script") && !html.contains("<b>") && !html.contains("<!--"));
        let no_text = ['\u{0}', '\u{1b}', '\u{202e}'];
        prop_assert!(!html.contains(no_text));
        // A report is well formed XML too, but for its first line and the elements that HTML does not close.
        let body = html.split_once("</head>\n").unwrap().1.trim_end().trim_end_matches("</html>");
        prop_assert!(Document::parse(body).is_ok(), "{}", body);
        // Nothing is loaded from anywhere: the only address is the name of the SVG format.
        prop_assert_eq!(html.matches("http").count(), html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    }
}

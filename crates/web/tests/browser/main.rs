//! The page in a real browser: type, see, hover, share, repair, switch languages, make mistakes, by mouse and
//! by keyboard. `cargo xtask test` builds the page, sets `ZEROSTRIDE_PAGE` to its folder and runs these;
//! pictures of the page lie there afterwards, in `pictures`.

mod driver;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use driver::Browser;

const TAB: &str = "\u{E004}";
const ENTER: &str = "\u{E007}";

fn folder() -> PathBuf {
    std::env::var_os("ZEROSTRIDE_PAGE").expect("ZEROSTRIDE_PAGE names the folder of the built page").into()
}

/// A browser that has opened the page with a fragment.
fn page(fragment: &str) -> Browser {
    let browser = Browser::start();
    show(&browser, fragment);
    browser
}

fn show(browser: &Browser, fragment: &str) {
    // Another fragment alone would not load the page again.
    browser.open("about:blank");
    browser.open(&format!("file://{}/index.html#{fragment}", folder().display()));
    browser.wait("document.documentElement.dataset.ready !== undefined");
}

fn heading(browser: &Browser) -> String {
    browser.text("#report h1")
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn what_is_typed_is_drawn_at_once() {
    let browser = page("op=sub&o=output=32,1&o=target=32");
    assert!(heading(&browser).contains("(32, 1) and (32,) broadcast to (32, 32)"), "{}", heading(&browser));
    browser.fill("#operands li:nth-child(2) .text", "4, 1, 7");
    assert!(heading(&browser).contains("broadcast to (4, 32, 7)"), "{}", heading(&browser));
    assert_eq!(browser.value("document.querySelectorAll('#report svg').length"), json!(1));
    browser.fill("#operands li:nth-child(1) .text", "[[1, 2], [3, 4]]");
    browser.fill("#operands li:nth-child(2) .text", "[10, 20]:i64");
    assert!(browser.text("#report").contains("[10, 20]"), "values are shown");
    assert!(browser.text("#programs figure:nth-child(1) code").contains("torch.tensor([[1, 2], [3, 4]])"));
    assert!(browser.text("#programs figure:nth-child(2) code").contains("result = output - target"));
    assert!(browser.text("#programs figure:nth-child(5) code").contains("output.sub(&target)?"));
    browser.click("#add");
    browser.fill("#operands li:nth-child(3) .text", "5, 1, 1");
    assert_eq!(browser.value("document.querySelectorAll('#operands li').length"), json!(3));
    browser.click("#operands li:nth-child(3) .remove");
    assert_eq!(browser.value("document.querySelectorAll('#operands li').length"), json!(2));
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn an_operation_shows_its_own_fields_and_the_elements_of_its_result() {
    let browser = page("");
    let values =
        || browser.value("[...document.querySelectorAll('#report .zs-value')].map((e) => e.textContent)");
    let shown =
        |field: &str| browser.value(&format!("!document.querySelector('[data-field={field}]').hidden"));
    assert!(values().as_array().unwrap().ends_with(&[json!("7"), json!("8"), json!("9")]), "{}", values());
    let choose = |op: &str| {
        browser.value(&format!(
            "((field) => (field.value = {op:?}, field.dispatchEvent(new Event('input', {{ bubbles: true }}))))\
             (document.querySelector('#operation'))"
        ));
    };
    choose("sum");
    assert_eq!(
        (shown("in-place"), shown("dim"), shown("equation")),
        (json!(false), json!(true), json!(false))
    );
    assert_eq!(heading(&browser), "x.sum(): the result has shape ()");
    browser.fill("#dim", "1");
    browser.click("#keepdim");
    assert_eq!(heading(&browser), "x.sum(1, keepdim=True): the result has shape (1, 1)");
    assert!(values().as_array().unwrap().ends_with(&[json!("6")]), "{}", values());
    assert!(browser.value("location.hash").as_str().unwrap().contains("op=sum&dim=1&keepdim=1"));
    choose("einsum");
    browser.fill("#equation", "ij,ji->");
    assert!(heading(&browser).ends_with("the result has shape ()"), "{}", heading(&browser));
    assert!(values().as_array().unwrap().ends_with(&[json!("32")]), "{}", values());
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn a_mistake_of_the_reader_is_told_beside_the_field_and_of_the_shapes_in_pytorchs_words() {
    let browser = page("op=add&o=x=5,2,4,1&o=y=3,1,1");
    let error = "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1";
    assert_eq!(heading(&browser), error);
    assert_eq!(browser.text("#status"), error);
    browser.fill("#operands li:nth-child(1) .text", "5, -2");
    assert!(browser.text("#operands li:nth-child(1) .problem").contains("whole numbers"));
    assert_eq!(browser.value("document.querySelector('#operands li .text').ariaInvalid"), json!("true"));
    assert_eq!(browser.value("document.querySelector('#report').classList.contains('stale')"), json!(true));
    browser.fill("#operands li:nth-child(1) .text", "5, 3, 4, 1");
    assert!(heading(&browser).contains("broadcast to (5, 3, 4, 1)"), "{}", heading(&browser));
    browser.fill("#operands li:nth-child(1) .name", "<img src=x onerror=alert(1)>");
    assert!(browser.text("#operands li:nth-child(1) .problem").contains("letters"));
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn a_dimension_lights_up_in_table_and_picture_under_the_pointer() {
    let browser = page("op=mul&o=a=5,1,4,1&o=b=3,1,2");
    let lit = "document.querySelectorAll('#report .lit').length";
    assert_eq!(browser.value(lit), json!(0));
    browser.hover("#report tr[data-dims=\"3\"] td");
    assert_eq!(
        browser.value("document.querySelector('#report tr[data-dims=\"3\"]').classList.contains('lit')"),
        json!(true)
    );
    assert_ne!(browser.value("document.querySelectorAll('#report svg .lit').length"), json!(0));
    assert_eq!(
        browser.value("document.querySelector('#report tr[data-dims=\"2\"]').classList.contains('lit')"),
        json!(false)
    );
    browser.hover("header h1");
    assert_eq!(browser.value(lit), json!(0));
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn a_repair_is_made_by_a_click_and_the_address_holds_the_state() {
    let browser = page("op=mul&o=x=32,10&o=y=32");
    assert!(heading(&browser).starts_with("The size of tensor a (10)"), "{}", heading(&browser));
    browser.click("#report .zs-offers li:first-child a");
    browser.wait("document.querySelector('#report h1').textContent.includes('broadcast')");
    assert_eq!(
        browser.value("document.querySelector('#operands li:nth-child(2) .text').value"),
        json!("32, 1")
    );
    browser.fill("#operands li:nth-child(1) .text", "32, 11");
    let address = browser.value("location.href").as_str().unwrap().to_owned();
    let other = Browser::start();
    other.open(&address);
    other.wait("document.documentElement.dataset.ready !== undefined");
    assert_eq!(heading(&other), heading(&browser));
    browser.click("#share");
    browser.wait("document.querySelector('#status').textContent === 'Copied'");
    browser.value("history.back()");
    browser.wait("document.querySelector('#operands li:nth-child(2) .text').value === '32'");
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn every_word_changes_with_the_language() {
    let browser = page("op=sub&inplace=1&o=x=1,3,1&o=y=3,1,7");
    let words = || {
        browser.value(
            "[...document.querySelectorAll('[data-word]')].map((e) => e.dataset.word + '=' + e.textContent)",
        )
    };
    let english = words();
    browser.click("[data-lang=it]");
    assert_eq!(browser.value("document.documentElement.lang"), json!("it"));
    let italian = words();
    for (one, other) in english.as_array().unwrap().iter().zip(italian.as_array().unwrap()) {
        assert_ne!(one, other);
    }
    assert!(browser.text("#report h2").contains("Passo 1"), "{}", browser.text("#report h2"));
    assert!(browser.value("location.hash").as_str().unwrap().contains("lang=it"));
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn everything_can_be_reached_and_done_from_the_keyboard() {
    let browser = page("op=mul&o=x=32,10&o=y=32");
    let mut reached = Vec::new();
    for _ in 0..40 {
        browser.press(TAB);
        let focus =
            "(({ activeElement: e }) => e.id || e.className || e.dataset.lang || e.textContent)(document)";
        reached.push(browser.value(focus).as_str().unwrap_or_default().to_owned());
        if reached.last().is_some_and(|last| last == "Apply") {
            browser.press(ENTER);
            break;
        }
    }
    for wanted in ["en", "it", "theme", "name", "text", "add", "operation", "in-place", "share", "lit"] {
        assert!(
            reached.iter().any(|name| name.split(' ').any(|class| class == wanted)),
            "{wanted} in {reached:?}"
        );
    }
    browser.wait("document.querySelector('#report h1').textContent.includes('broadcast')");
    let unnamed = "[...document.querySelectorAll('button, input, select, a, svg[role=img]')]
        .filter((e) => !(e.textContent.trim() || e.labels?.length && e.labels[0].textContent.trim())).length";
    assert_eq!(browser.value(unnamed), json!(0), "everything has a name for a screen reader");
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn no_request_leaves_the_folder_and_nothing_is_blocked() {
    let browser = Browser::start();
    // What the browser itself had done before is not the page's.
    browser.log("performance");
    show(&browser, "");
    browser.click("[data-lang=it]");
    browser.click("#theme");
    let own = format!("file://{}/", folder().display());
    // The browser's own pages, such as that of a new tab, ask for things too.
    let is_the_pages = |request: &serde_json::Value| {
        request["documentURL"].as_str().is_some_and(|document| document.starts_with(&own))
    };
    let requests: Vec<String> = browser
        .log("performance")
        .iter()
        .filter_map(|message| serde_json::from_str::<serde_json::Value>(message).ok())
        .filter(|event| event["message"]["method"] == "Network.requestWillBeSent")
        .map(|mut event| event["message"]["params"].take())
        .filter(is_the_pages)
        .filter_map(|request| request["request"]["url"].as_str().map(str::to_owned))
        .collect();
    assert!(requests.len() >= 4, "{requests:?}");
    for url in &requests {
        assert!(url.starts_with(&own), "{url}");
    }
    assert_eq!(browser.log("browser"), [""; 0]);
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn the_first_picture_comes_soon_and_the_module_is_small() {
    /// From the page's text to its picture.
    const MOST_MS: u64 = 200;
    let script = std::fs::read_to_string(folder().join("engine.js")).unwrap();
    let encoded = script.split('"').nth(3).expect("the module stands between quotation marks");
    let module = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded).unwrap();
    let mut gzip =
        Command::new("gzip").args(["-9", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = gzip.stdin.take().unwrap();
    let bytes = module.clone();
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let mut compressed = Vec::new();
    gzip.stdout.take().unwrap().read_to_end(&mut compressed).unwrap();
    writer.join().unwrap();
    assert!(gzip.wait().unwrap().success());

    let browser = page("");
    // A machine that is busy with something else says nothing of the page: one load without that is enough.
    let mut soonest = u64::MAX;
    for _ in 0..50 {
        show(&browser, "");
        let number = |expression: &str| browser.value(expression).as_u64().expect("a time");
        let ready = number("Number(document.documentElement.dataset.ready)");
        let loaded = number("Math.round(performance.getEntriesByType('navigation')[0].domInteractive)");
        eprintln!("the page was read after {loaded} ms, the picture was there after {ready} ms");
        soonest = soonest.min(ready.saturating_sub(loaded));
        if soonest < MOST_MS {
            break;
        }
    }
    eprintln!("the module has {} bytes, {} compressed", module.len(), compressed.len());
    assert!(compressed.len() < 400_000, "{}", compressed.len());
    assert!(soonest < MOST_MS, "{soonest} ms");
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn the_page_fits_every_screen_in_both_themes() {
    let pictures = folder().join("pictures");
    std::fs::create_dir_all(&pictures).unwrap();
    let browser = page("");
    for (name, fragment) in [
        ("values", ""),
        ("mistake", "op=sub&o=output=32,1&o=target=32"),
        ("error", "lang=it&op=add&o=x=5,2,4,1&o=y=3,1,1"),
        ("matmul", "op=matmul&o=x=[[1, 2, 3], [4, 5, 6]]&o=y=[[1, 0], [0, 1], [1, 1]]"),
        ("einsum", "op=einsum&eq=bhqd,bhkd->bhqk&o=q=2, 8, 10, 64&o=k=2, 8, 12, 64"),
    ] {
        for theme in ["light", "dark"] {
            for (screen, width, height, mobile) in [("desktop", 1280, 900, false), ("phone", 390, 844, true)]
            {
                let metrics =
                    json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
                browser.cdp("Emulation.setDeviceMetricsOverride", &metrics);
                let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
                browser.cdp("Emulation.setEmulatedMedia", &media);
                show(&browser, fragment);
                let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
                assert_eq!(browser.value(overflow), json!(0), "{name} on a {screen}");
                let holds = |condition: &str| {
                    assert_eq!(browser.value(condition), json!(true), "{condition}: {name} on a {screen}");
                };
                holds("document.querySelector('#report h1').getBoundingClientRect().bottom < innerHeight");
                let tops =
                    "['#report', '#try'].map((id) => document.querySelector(id).getBoundingClientRect().top)";
                holds(&format!("(([answer, examples]) => {mobile} ? answer < examples : true)({tops})"));
                // What is cut can be scrolled, from the keyboard too, and has a shadow where it goes on.
                holds(
                    "[...document.querySelectorAll('#report *, #programs *')].every((e) => \
                     e.scrollWidth <= e.clientWidth + 1 || getComputedStyle(e).overflowX === 'visible' || \
                     e.tabIndex === 0 && getComputedStyle(e).backgroundImage.includes('gradient'))",
                );
                browser.picture(&pictures.join(format!("{name}-{theme}-{screen}.png")));
            }
        }
    }
}

#[test]
#[ignore = "cargo xtask test runs it, with the page and Chromium"]
fn the_page_counts_as_a_processor_of_64_bits_does() {
    let browser = page("op=sub&o=output=50000,1&o=target=50000");
    let shown = "(50000, 1) and (50000,) broadcast to (50000, 50000)";
    assert!(heading(&browser).contains(shown), "{}", heading(&browser));
    for fragment in [
        "op=sub&o=output=50000,1&o=target=50000",
        "op=mul&o=a=8,1,4096,128&o=b=8,4096,1,128",
        "lang=it&op=add&o=x=5000000000,1&o=y=3",
        "op=add&o=x=65536,65536,1&o=y=65536,65536,4",
        "op=add&o=x=4294967296,2&o=y=4294967297,2",
        "op=add&o=x=70000,70000&o=y=70000,3",
        "op=add&inplace=1&o=x=4000000000&o=y=2,1",
        "op=add&o=x=6442450944&o=y=3,2147483648",
        "op=add&o=x=1099511627776,1&o=y=1099511627776",
        "op=add&o=x=99999999999999999999&o=y=1",
    ] {
        let ask = format!(
            "(window.asked = undefined, WebAssembly.instantiate(module).then(({{ instance }}) => \
             {{ window.asked = asker(instance.exports)({fragment:?}); }}), 0)"
        );
        browser.value(&ask);
        browser.wait("window.asked !== undefined");
        let here: serde_json::Value = serde_json::from_str(&zerostride_web::answer(fragment)).unwrap();
        assert_eq!(browser.value("window.asked"), here, "{fragment}");
    }
}

//! Owns a browser that a test drives: Chromium behind chromedriver, spoken to in W3C WebDriver. It does not
//! know the page.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Without a profile, a screen, or traffic of its own.
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
];

/// The key under which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window; it ends with the test.
pub(crate) struct Browser {
    driver: Child,
    session: String,
    _profile: tempfile::TempDir,
}

/// An element of the page.
#[derive(Clone)]
pub(crate) struct Element(String);

impl Browser {
    pub(crate) fn start() -> Browser {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let lines = BufReader::new(driver.stdout.take().expect("its output is piped")).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.expect("chromedriver says its port");
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let mut flags: Vec<String> = FLAGS.map(str::to_owned).into();
        flags.push(format!("--user-data-dir={}", profile.path().display()));
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "performance": "ALL", "browser": "ALL" },
        }}});
        let address = format!("http://127.0.0.1:{port}/session");
        let answer = send(&address, &wanted);
        let id = answer["sessionId"].as_str().expect("a session has an id");
        Browser { driver, session: format!("{address}/{id}"), _profile: profile }
    }

    fn post(&self, command: &str, body: &Value) -> Value {
        send(&format!("{}/{command}", self.session), body)
    }

    pub(crate) fn open(&self, url: &str) {
        self.post("url", &json!({ "url": url }));
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&self, expression: &str) -> Value {
        self.post("execute/sync", &json!({ "script": format!("return {expression}"), "args": [] }))
    }

    pub(crate) fn text(&self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression in the page is true.
    pub(crate) fn wait(&self, expression: &str) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while self.value(expression) != json!(true) {
            assert!(std::time::Instant::now() < end, "`{expression}` does not come true");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    pub(crate) fn find(&self, selector: &str) -> Element {
        let found = self.post("element", &json!({ "using": "css selector", "value": selector }));
        Element(found[ELEMENT].as_str().expect("the page has the element").to_owned())
    }

    pub(crate) fn click(&self, selector: &str) {
        let Element(id) = self.find(selector);
        self.post(&format!("element/{id}/click"), &json!({}));
    }

    /// Types into a field instead of what it holds.
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        let Element(id) = self.find(selector);
        self.post(&format!("element/{id}/clear"), &json!({}));
        self.post(&format!("element/{id}/value"), &json!({ "text": text }));
    }

    /// Presses keys where the focus is.
    pub(crate) fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
            })
            .collect();
        self.post("actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// Moves the pointer over an element.
    pub(crate) fn hover(&self, selector: &str) {
        let Element(id) = self.find(selector);
        let over = json!({ "type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": { ELEMENT: id } });
        self.post(
            "actions",
            &json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": [over] }] }),
        );
    }

    /// A command of Chromium's own protocol.
    pub(crate) fn cdp(&self, command: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Messages of a log since it was read last.
    pub(crate) fn log(&self, kind: &str) -> Vec<String> {
        let entries = self.post("se/log", &json!({ "type": kind }));
        let messages = entries.as_array().into_iter().flatten().map(|entry| entry["message"].as_str());
        messages.flatten().map(str::to_owned).collect()
    }

    /// The whole page as a PNG file.
    pub(crate) fn picture(&self, path: &Path) {
        let taken = self.cdp("Page.captureScreenshot", &json!({ "captureBeyondViewport": true }));
        let encoded = taken["data"].as_str().expect("a picture is base64");
        let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded);
        std::fs::write(path, bytes.expect("a picture is base64")).expect("the picture can be written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The session's end ends the browser, the driver's would not.
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Sends a command; the answer is its value.
fn send(address: &str, body: &Value) -> Value {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut response = agent.post(address).send_json(body).expect("chromedriver answers");
    let mut answer: Value = response.body_mut().read_json().expect("chromedriver answers in JSON");
    assert!(response.status().is_success(), "{address}: {answer}");
    answer["value"].take()
}

// Puts what the WebAssembly module answers into the page, and what the reader does into its next question. It
// decides nothing about shapes, words or programs: those come from Rust (`crates/web/src`).
"use strict";

const find = (selector, scope = document) => scope.querySelector(selector);
const all = (selector, scope = document) => [...scope.querySelectorAll(selector)];

/** Asks the module: a fragment goes in, the answer comes out. */
const asker = ({ memory, question, ask, answer }) => (fragment) => {
  const bytes = new TextEncoder().encode(fragment);
  const address = question(bytes.length);
  new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
  const length = ask();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), length)));
};

const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [sheet];
let words = {};
let lang = "en";

/** What the reader has entered, as a fragment. */
const entered = () => {
  const escaped = (selector, row) => encodeURIComponent(find(selector, row).value);
  const operands = all("#operands li").map((row) => `o=${escaped(".name", row)}=${escaped(".text", row)}`);
  const chosen = [["#in-place", "inplace=1"], ["#keepdim", "keepdim=1"]].flatMap(([box, part]) => find(box).checked ? [part] : []);
  const written = [`op=${escaped("#operation")}`, `dim=${escaped("#dim")}`, `eq=${escaped("#equation")}`];
  return [`lang=${lang}`, ...written, ...chosen, ...operands].join("&");
};

/** The room for a picture, which is drawn narrower on a phone. */
const room = () => `&width=${find("#report").clientWidth}`;

const label = (scope) => {
  for (const element of all("[data-word]", scope)) element.textContent = words[element.dataset.word];
};

const clone = (template) => find(template).content.firstElementChild.cloneNode(true);

const link = ({ label, fragment }) => {
  const anchor = document.createElement("a");
  anchor.href = `#${fragment}`;
  anchor.textContent = label;
  return anchor;
};

/** Fills the form, which a reader who types has filled already. */
const fill = (answer) => {
  find("#operands").replaceChildren(...answer.operands.map(({ name, text }) => {
    const row = clone("#operand");
    find(".name", row).value = name;
    find(".text", row).value = text;
    return row;
  }));
  find("#in-place").checked = answer.in_place;
  find("#keepdim").checked = answer.keepdim;
  find("#dim").value = answer.dim;
  find("#equation").value = answer.equation;
};

const showExplanation = ({ style, report, repairs, programs }) => {
  sheet.replaceSync(style);
  find("#report").innerHTML = report;
  all("#report .zs-offers li").forEach((offer, at) => {
    if (!repairs[at]) return;
    const apply = link({ ...repairs[at], label: words.apply });
    apply.setAttribute("aria-label", `${words.apply}: ${repairs[at].label}`);
    offer.append(apply);
  });
  for (const row of all("#report tr[data-dims]")) row.tabIndex = 0;
  // What is a little too wide is made smaller, what is more so can be scrolled.
  for (const figure of all("#report figure")) {
    find("svg", figure).classList.toggle("wide", find("svg", figure).width.baseVal.value > 1.2 * figure.clientWidth);
  }
  for (const box of all("#report :is(figure, .zs-scroll, pre)")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
  find("#programs").replaceChildren(...programs.map(({ library, text }) => {
    const program = clone("#program");
    find(".library", program).textContent = library;
    find("code", program).textContent = text;
    find("pre", program).setAttribute("aria-label", library);
    return program;
  }));
};

const show = (answer) => {
  ({ words, lang } = answer);
  document.documentElement.lang = lang;
  find("#operation").replaceChildren(...answer.operations.map(({ value, label, chosen }) => new Option(label, value, chosen, chosen)));
  find("#examples").replaceChildren(...answer.examples.map((example) => {
    const item = document.createElement("li");
    item.append(link(example));
    return item;
  }));
  for (const field of all("[data-field]")) field.hidden = !answer.fields.includes(field.dataset.field);
  find("#dim").placeholder = words["dim-hint"];
  all("#operands li").forEach((row, at) => {
    const { problem, unused } = answer.operands[at];
    row.classList.toggle("unused", unused);
    row.title = unused ? words.unused : "";
    find(".problem", row).textContent = problem ?? "";
    find(".text", row).setAttribute("aria-invalid", String(problem !== null));
    find(".remove", row).hidden = answer.operands.length === 1;
  });
  find("#add").hidden = !answer.can_add;
  find("#report").classList.toggle("stale", answer.explained === null);
  if (answer.explained) showExplanation(answer.explained);
  for (const button of all("[data-lang]")) button.setAttribute("aria-pressed", String(button.dataset.lang === lang));
  label(document);
  document.title = words.title;
  find("#status").textContent = answer.status;
};

/** Lights up everything about the dimensions of an element. */
const light = (target) => {
  const dims = target?.closest?.("#report [data-dims]")?.dataset.dims.split(" ") ?? [];
  for (const element of all("#report [data-dims]")) {
    element.classList.toggle("lit", element.dataset.dims.split(" ").some((dim) => dims.includes(dim)));
  }
};

const copy = async (text, button) => {
  const shown = find("[data-word]", button) ?? button;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without permission the old way works: from a selection.
    const area = document.createElement("textarea");
    area.value = text;
    button.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  shown.textContent = words.copied;
  find("#status").textContent = words.copied;
  setTimeout(() => label(document), 1500);
};

const themes = ["", "light", "dark"];
const setTheme = (theme) => {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
};

const start = (ask) => {
  /** Shows the state of an address; the form follows. */
  const load = (fragment) => {
    const answer = ask(fragment + room());
    fill(answer);
    show(answer);
  };
  /** Shows what has been entered; the address follows. */
  const update = () => {
    const answer = ask(entered() + room());
    show(answer);
    history.replaceState(null, "", `#${answer.fragment}`);
  };
  find("form").addEventListener("input", update);
  find("form").addEventListener("submit", (event) => event.preventDefault());
  find("#add").addEventListener("click", () => {
    const row = clone("#operand");
    find("#operands").append(row);
    update();
    find(".text", row).focus();
  });
  find("#operands").addEventListener("click", (event) => {
    const button = event.target.closest(".remove");
    if (!button) return;
    button.closest("li").remove();
    update();
    find("#add").focus();
  });
  for (const button of all("[data-lang]")) {
    button.addEventListener("click", () => {
      lang = button.dataset.lang;
      update();
    });
  }
  find("#theme").addEventListener("click", () => {
    setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme ?? "") + 1) % themes.length]);
  });
  find("#share").addEventListener("click", (event) => copy(location.href, event.currentTarget));
  find("#programs").addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    if (button) copy(find("code", button.closest("figure")).textContent, button);
  });
  for (const [enter, leave] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
    find("#report").addEventListener(enter, (event) => light(event.target));
    find("#report").addEventListener(leave, () => light(null));
  }
  addEventListener("hashchange", () => {
    load(location.hash.slice(1));
    find("#report h1").scrollIntoView({ block: "nearest" });
  });
  let seen = room();
  addEventListener("resize", () => {
    if (room() !== seen) show(ask(entered() + room()));
    seen = room();
  });
  const preferred = navigator.language.startsWith("it") ? "lang=it" : "";
  load(location.hash.slice(1) || preferred);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
};

const module = Uint8Array.from(atob(ZEROSTRIDE), (character) => character.charCodeAt(0));
WebAssembly.instantiate(module).then(({ instance }) => start(asker(instance.exports)));

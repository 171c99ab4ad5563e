//! Owns the reading of a printed module: registers, memory, instructions, labels. What is outside of the
//! subset that is printed is refused by name. It does not run anything.

use std::collections::HashMap;

use crate::names::{PURE, Pure};

/// Where bits come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Register(usize),
    Number(u64),
    /// The index of the thread in its block, and of the block.
    Thread,
    Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Argument,
    Global,
    Shared,
}

/// An instruction.
pub(crate) enum Act {
    Pure {
        run: fn(u64, u64, u64) -> u64,
        bits: u32,
        to: usize,
        from: [Source; 3],
    },
    /// Elements of so many bytes, one or several, from an address or the number of an argument's byte.
    Load {
        space: Space,
        bytes: u64,
        to: Vec<usize>,
        address: Source,
        offset: u64,
    },
    Store {
        space: Space,
        bytes: u64,
        from: Vec<usize>,
        address: Source,
        offset: u64,
    },
    /// To a place, where a predicate is as told.
    Jump {
        to: usize,
        predicate: Option<(usize, bool)>,
    },
    Barrier,
    Return,
}

/// A module of one kernel.
pub struct Module {
    /// The name of its entry.
    pub name: String,
    /// The threads of a block.
    pub threads: usize,
    /// The bytes of its parameter.
    pub argument_bytes: u64,
    /// Bits of each register.
    pub(crate) widths: Vec<u32>,
    pub(crate) tables: Vec<u64>,
    /// The bytes of all shared memory.
    pub(crate) shared_bytes: u64,
    pub(crate) acts: Vec<Act>,
}

/// The address of the tables.
pub(crate) const TABLES: u64 = 0x7f00_0000 << 32;

#[derive(Default)]
struct Reading {
    /// The first register of each letter, and how many there are.
    registers: HashMap<char, (usize, usize)>,
    widths: Vec<u32>,
    /// The addresses of variables in shared memory.
    shared: HashMap<String, u64>,
    shared_bytes: u64,
    has_tables: bool,
    labels: HashMap<String, usize>,
}

/// Bits of the registers of a letter.
fn bits(letter: char) -> u32 {
    match letter {
        'p' => 1,
        'h' => 16,
        'r' | 'f' => 32,
        'l' | 'd' => 64,
        _ => panic!("registers %{letter} are not in the subset"),
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let refuse = || panic!("{text:?} is not in the subset: it has no {start:?}…{end:?}");
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map_or_else(refuse, |(inner, _)| inner)
}

fn number(text: &str) -> Option<u64> {
    let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).ok();
    match text.get(..2) {
        Some("0x") => hexadecimal(&text[2..]),
        Some("0f") => hexadecimal(&text[2..]).filter(|_| text.len() == 10),
        Some("0d") => hexadecimal(&text[2..]).filter(|_| text.len() == 18),
        _ => text.parse().ok(),
    }
}

impl Module {
    /// Reads a module.
    ///
    /// # Panics
    /// If it is not in the printed subset.
    pub fn parse(text: &str) -> Module {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[..3], [".version 7.0", ".target sm_75", ".address_size 64"]);
        let mut reading = Reading::default();
        let entry = lines.iter().position(|line| line.starts_with(".visible .entry ")).expect("an entry");
        let mut tables = Vec::new();
        if let [first, rows @ .., last] = &lines[3..entry] {
            assert!(first.starts_with(".global .align 8 .b64 tables[") && *last == "};", "{first}");
            let entries = rows.iter().flat_map(|row| row.split(',')).map(str::trim);
            tables = entries.filter(|entry| !entry.is_empty()).filter_map(number).collect();
            assert_eq!(between(first, "[", "]"), tables.len().to_string());
            reading.has_tables = true;
        }
        let argument_bytes = number(between(lines[entry], "(.param .align 8 .b8 arguments[", "])"));
        let threads = number(between(lines[entry + 1], ".maxntid ", ", 1, 1")).expect("a number of threads");
        assert_eq!((lines[entry + 2], lines.last()), ("{", Some(&"}")));
        let body = &lines[entry + 3..lines.len() - 1];
        let declared = body.iter().take_while(|line| line.starts_with('.')).count();
        body[..declared].iter().for_each(|line| reading.declare(line));
        let mut place = 0;
        for line in &body[declared..] {
            match line.strip_suffix(':') {
                Some(label) => assert!(reading.labels.insert(label.to_owned(), place).is_none(), "{label}"),
                None => place += 1,
            }
        }
        let own = body[declared..].iter().filter(|line| !line.ends_with(':'));
        let acts = own.map(|line| reading.act(line)).collect();
        Module {
            name: between(lines[entry], ".visible .entry ", "(").to_owned(),
            threads: threads as usize,
            argument_bytes: argument_bytes.expect("bytes of arguments"),
            widths: reading.widths,
            tables,
            shared_bytes: reading.shared_bytes,
            acts,
        }
    }
}

impl Reading {
    fn declare(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix(".reg .") {
            let (ty, name) = rest.split_once(" %").expect("a name of registers");
            let letter = name.chars().next().expect("a letter");
            let known = [("pred", 'p'), ("b16", 'h'), ("b32", 'r'), ("b64", 'l'), ("f32", 'f'), ("f64", 'd')];
            assert!(known.contains(&(ty, letter)), "{line} is not in the subset");
            let own = number(between(name, "<", ">")).expect("a number of registers") as usize;
            self.registers.insert(letter, (self.widths.len(), own));
            self.widths.resize(self.widths.len() + own, bits(letter));
            return;
        }
        let rest = line.strip_prefix(".shared .align 8 .b64 ");
        let rest = rest.unwrap_or_else(|| panic!("{line} is not in the subset"));
        let entries = number(between(rest, "[", "]")).expect("a number of entries");
        self.shared.insert(rest[..rest.find('[').unwrap_or(0)].to_owned(), self.shared_bytes);
        self.shared_bytes += 8 * entries;
    }

    /// A register and its letter.
    fn register(&self, text: &str) -> (usize, char) {
        let known = text.strip_prefix('%').and_then(|name| {
            let letter = name.chars().next()?;
            let nth: usize = name[1..].parse().ok()?;
            let &(first, count) = self.registers.get(&letter)?;
            (nth < count).then_some((first + nth, letter))
        });
        known.unwrap_or_else(|| panic!("{text} is no register"))
    }

    /// A register of a kind.
    fn of_kind(&self, text: &str, kind: char, line: &str) -> usize {
        let (register, letter) = self.register(text);
        let fits = match kind {
            'w' => matches!(letter, 'r' | 'f'),
            'q' => matches!(letter, 'l' | 'd'),
            _ => letter == kind,
        };
        assert!(fits, "{line}: {text} is not of kind {kind}");
        register
    }

    fn source(&self, text: &str, kind: char, line: &str) -> Source {
        match number(text) {
            Some(bits) => Source::Number(bits),
            None => Source::Register(self.of_kind(text, kind, line)),
        }
    }

    fn label(&self, text: &str, line: &str) -> usize {
        *self.labels.get(text).unwrap_or_else(|| panic!("{line}: no such label"))
    }

    fn act(&self, line: &str) -> Act {
        let text = line.strip_suffix(';').unwrap_or_else(|| panic!("{line} has no end"));
        if let Some(guarded) = text.strip_prefix('@') {
            let (guard, jump) = guarded.split_once(" bra ").unwrap_or_else(|| panic!("{line} is no jump"));
            let name = guard.trim_start_matches('!');
            let predicate = (self.of_kind(name, 'p', line), name.len() == guard.len());
            return Act::Jump { to: self.label(jump, line), predicate: Some(predicate) };
        }
        let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
        match (name, operands) {
            ("ret", "") => return Act::Return,
            ("bar.sync", "0") => return Act::Barrier,
            ("bra", label) => return Act::Jump { to: self.label(label, line), predicate: None },
            _ if name.starts_with("ld.") || name.starts_with("st.") => {
                return self.memory(name, operands, line);
            }
            _ => {}
        }
        let operands: Vec<&str> = operands.split(", ").collect();
        // Addresses and special registers.
        let special = match (name, operands.get(1).copied()) {
            ("mov.u32", Some("%tid.x")) => Some(Source::Thread),
            ("mov.u32", Some("%ctaid.x")) => Some(Source::Block),
            ("mov.u32", Some(name)) => self.shared.get(name).map(|&address| Source::Number(address)),
            ("mov.u64", Some("tables")) if self.has_tables => Some(Source::Number(TABLES)),
            _ => None,
        };
        if let Some(special) = special {
            let to = self.of_kind(operands[0], if name == "mov.u32" { 'r' } else { 'l' }, line);
            let from = [special, Source::Number(0), Source::Number(0)];
            return Act::Pure { run: |a, _, _| a, bits: 64, to, from };
        }
        let known = PURE.iter().find(|pure| pure.name == name);
        let Pure { kinds, run, .. } = known.unwrap_or_else(|| panic!("{line}: {name} is not in the subset"));
        assert_eq!(kinds.len(), operands.len(), "{line}");
        let mut from = [Source::Number(0); 3];
        for (nth, (kind, operand)) in kinds.chars().zip(&operands).enumerate().skip(1) {
            from[nth - 1] = self.source(operand, kind, line);
        }
        let to = self.of_kind(operands[0], kinds.chars().next().unwrap_or('p'), line);
        Act::Pure { run: *run, bits: self.widths[to], to, from }
    }

    /// A load or a store, as `ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%l6+16]`.
    fn memory(&self, name: &str, operands: &str, line: &str) -> Act {
        let parts: Vec<&str> = name.split('.').collect();
        let space = match parts[1] {
            "param" if parts[0] == "ld" => Space::Argument,
            "global" => Space::Global,
            "shared" => Space::Shared,
            _ => panic!("{line}: {name} is not in the subset"),
        };
        let (count, ty) = match parts[2..] {
            [ty] => (1, ty),
            ["v2", ty] if space == Space::Global => (2, ty),
            ["v4", ty] if space == Space::Global => (4, ty),
            _ => panic!("{line}: {name} is not in the subset"),
        };
        let (bytes, kind) = match ty {
            "u8" => (1, 'r'),
            "u16" => (2, 'r'),
            "b16" => (2, 'h'),
            "b32" => (4, 'r'),
            "b64" => (8, 'l'),
            "f32" => (4, 'f'),
            "f64" => (8, 'd'),
            _ => panic!("{line}: {ty} is not in the subset"),
        };
        let place = between(operands, "[", "]");
        let (base, offset) = place.split_once('+').unwrap_or((place, "0"));
        let offset = number(offset).unwrap_or_else(|| panic!("{line}: {offset} is no offset"));
        let address = match space {
            Space::Argument if base == "arguments" => Source::Number(0),
            Space::Argument => panic!("{line}: there is no other argument"),
            Space::Global => Source::Register(self.of_kind(base, 'l', line)),
            Space::Shared => Source::Register(self.of_kind(base, 'r', line)),
        };
        let others = operands.replace(&format!("[{place}]"), "");
        let names = others.trim_matches(|c: char| c == ',' || c == ' ');
        let is_vector = names.starts_with('{') && names.ends_with('}');
        assert_eq!(is_vector, count > 1, "{line}");
        let registers: Vec<usize> =
            names.trim_matches(['{', '}']).split(", ").map(|name| self.of_kind(name, kind, line)).collect();
        assert_eq!(registers.len(), count, "{line}");
        if parts[0] == "ld" {
            Act::Load { space, bytes, to: registers, address, offset }
        } else {
            Act::Store { space, bytes, from: registers, address, offset }
        }
    }
}

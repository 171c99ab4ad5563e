//! Owns the description of the machine of a run: its hardware and compilers, and nothing that identifies its
//! owner. It does not know what is measured.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// Hardware and compilers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Such as `amd-epyc-family-26-2core-avx512`: the folder of its records.
    pub(crate) name: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    /// Sizes such as `L2 1024K`.
    pub(crate) caches: Vec<String>,
    pub(crate) memory_gib: f64,
    pub(crate) instructions: String,
    pub(crate) system: String,
    pub(crate) compiler: String,
}

impl Machine {
    /// The machine that this runs on.
    pub(crate) fn this() -> Machine {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let processor = processor();
        let instructions = instructions();
        let memory = field("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse().ok());
        Machine {
            name: format!(
                "{}-{cores}core-{}",
                short(&processor),
                instructions.to_lowercase().replace('-', "")
            ),
            processor,
            cores,
            caches: caches(),
            memory_gib: (memory.unwrap_or(0.0f64) / f64::from(1 << 20) * 10.0).round() / 10.0,
            instructions,
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            compiler: output("rustc", &["--version"]).unwrap_or_default(),
        }
    }
}

/// The processor's name, with its family if a virtual machine reports only `AMD EPYC`.
fn processor() -> String {
    let name = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    match field("/proc/cpuinfo", "cpu family") {
        Some(family) if !short(&name).contains(|letter: char| letter.is_ascii_digit()) => {
            format!("{name} family {family}")
        }
        _ => name,
    }
}

/// The widest vectors of the processor.
fn instructions() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let widest = if is_x86_feature_detected!("avx512f") {
            "AVX-512"
        } else if is_x86_feature_detected!("avx2") {
            "AVX2"
        } else {
            "SSE2"
        };
        widest.into()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::env::consts::ARCH.into()
    }
}

/// `AMD EPYC 9B14 96-Core Processor` as `amd-epyc-9b14`.
fn short(processor: &str) -> String {
    let noise = ["processor", "cpu", "(r)", "(tm)", "core"];
    let lower = processor.to_lowercase();
    let words = lower.split(['@', ',']).next().unwrap_or("").split_whitespace().filter_map(|word| {
        let word = word.replace("(r)", "").replace("(tm)", "");
        let kept = !word.is_empty() && !noise.contains(&word.as_str()) && !word.ends_with("-core");
        kept.then(|| word.chars().filter(char::is_ascii_alphanumeric).collect::<String>())
    });
    words.collect::<Vec<_>>().join("-")
}

/// The value of a line `name: value`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().into())
}

fn caches() -> Vec<String> {
    let read = |index: usize, file: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}");
        fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    (0..8)
        .filter(|index| read(*index, "type").is_some_and(|kind| kind != "Instruction"))
        .filter_map(|index| Some(format!("L{} {}", read(index, "level")?, read(index, "size")?)))
        .collect()
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_hardware_only() {
        assert_eq!(short("AMD EPYC 9B14 96-Core Processor"), "amd-epyc-9b14");
        assert_eq!(short("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz"), "intel-xeon-e52686-v4");
    }
}

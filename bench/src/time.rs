//! Owns how a time is written. It does not know what was timed.

/// Seconds with three digits and a unit.
pub(crate) fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let times = [(4.16e-8, "41.6 ns"), (7.4e-3, "7.40 ms"), (0.327, "327 ms"), (1.5, "1.50 s")];
        times.iter().for_each(|(seconds, text)| assert_eq!(time(*seconds), *text));
    }
}

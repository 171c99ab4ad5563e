//! Holds the mathematical functions to correctly rounded answers and to `docs/accuracy.md` (`ulp`,
//! `special_ulp`, `accuracy`) and to PyTorch at the ends of the complex plane (`complex_ends`).

mod accuracy;
mod complex_ends;
mod complex_short;
mod exponent;
mod special_ulp;
mod ulp;

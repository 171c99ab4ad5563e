//! Holds the mathematical functions to correctly rounded answers and to `docs/accuracy.md` (`ulp`,
//! `special_ulp`, `accuracy`), to PyTorch at the ends of the complex plane (`complex_ends`), and every
//! register to one element (`lanes`).

mod accuracy;
mod complex_ends;
mod complex_short;
mod exponent;
mod lanes;
mod special_ulp;
mod ulp;

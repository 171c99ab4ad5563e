//! Owns `Real`, a lane that has all functions. It does not know them.

use super::erf_table::Erf;
use super::exp::ExpConstants;
use super::hyperbolic::Tanh;
use super::log::LogConstants;
use super::normal_tail::NormalTail;
use super::power::PowerConstants;
use super::trig::Trig;
use crate::lane::Lane;

/// A lane of an element type that has these functions.
pub(crate) trait Real:
    Lane<Elem: Erf + ExpConstants + LogConstants + NormalTail + PowerConstants + Tanh + Trig>
{
}

impl<V: Lane<Elem: Erf + ExpConstants + LogConstants + NormalTail + PowerConstants + Tanh + Trig>> Real
    for V
{
}

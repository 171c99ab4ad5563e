//! Owns the decision whether elements share memory: within one layout, and between two of the same storage.
//! It does not know storages: the caller makes sure that both layouts are of one storage, with elements of
//! one size.

use alloc::vec::Vec;

use crate::dims::Dims;
use crate::diophantine::{Answer, EFFORT, Term, solvable};
use crate::layout::Layout;

/// Whether two indices of one layout reach the same element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InternalOverlap {
    /// Every index reaches its own element.
    No,
    /// Some element is reached through two indices.
    Yes,
    /// Not decided within the limit on effort; treat it as `Yes`.
    TooHard,
}

/// How two layouts of one storage overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// No element in common.
    None,
    /// The same index reaches the same element in both.
    Same,
    /// Some element in common, at different indices or beside elements that are not.
    Partial,
    /// Not decided within the limit on effort; treat it as `Partial`.
    TooHard,
}

impl Layout {
    /// Whether writing through this layout could write an element twice.
    ///
    /// ```
    /// use zerostride_shape::{InternalOverlap, Layout, Shape};
    ///
    /// let row = Layout::contiguous(Shape::new(&[1, 3])?);
    /// assert_eq!(row.has_internal_overlap(), InternalOverlap::No);
    /// assert_eq!(row.expand(&[4, 3])?.has_internal_overlap(), InternalOverlap::Yes);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn has_internal_overlap(&self) -> InternalOverlap {
        if self.is_contiguous() || self.numel() == 0 {
            return InternalOverlap::No;
        }
        let mut terms = self.terms();
        if terms.iter().any(|term| term.factor == 0) {
            return InternalOverlap::Yes;
        }
        terms.sort_unstable();
        let mut reach = 0;
        let mut nested = true;
        for term in &terms {
            nested &= term.factor > reach;
            reach += term.factor * term.bound;
        }
        if nested {
            return InternalOverlap::No;
        }
        // There are more indices than elements in the range, so two of them coincide.
        if self.numel() as i128 > reach + 1 {
            return InternalOverlap::Yes;
        }
        // Two indices of the same element differ in some dimensions. In the one of them with the largest
        // stride they differ by 1 or more, in those with smaller strides by anything from -bound to bound.
        let mut too_hard = false;
        let mut effort = EFFORT;
        for (at, lead) in terms.iter().enumerate() {
            let mut target = -lead.factor;
            let mut question: Dims<Term> = Dims::default();
            question.push(Term { factor: lead.factor, bound: lead.bound - 1 });
            for below in &terms[..at] {
                question.push(Term { factor: below.factor, bound: 2 * below.bound });
                target += below.factor * below.bound;
            }
            match solvable(&question, target, &mut effort) {
                Answer::Yes => return InternalOverlap::Yes,
                Answer::TooHard => too_hard = true,
                Answer::No => {}
            }
        }
        if too_hard { InternalOverlap::TooHard } else { InternalOverlap::No }
    }

    /// How this layout overlaps with another of the same storage and element size.
    ///
    /// Exact for ordinary strided views; the rest is decided by a search with limited effort.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Overlap, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[8])?);
    /// let even = x.slice(0, None, None, 2)?;
    /// let odd = x.slice(0, Some(1), None, 2)?;
    /// assert_eq!(even.overlap(&odd), Overlap::None);
    /// assert_eq!(even.overlap(&x), Overlap::Partial);
    /// assert_eq!(even.overlap(&even), Overlap::Same);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn overlap(&self, other: &Layout) -> Overlap {
        let (Some((low, high)), Some((other_low, other_high))) = (self.span(), other.span()) else {
            return Overlap::None;
        };
        if self.same_elements(other) {
            return Overlap::Same;
        }
        if high < other_low || other_high < low {
            return Overlap::None;
        }
        // Let x count steps up from the lowest element of self, and down from the highest of other: elements
        // coincide where all steps together equal the distance between the two.
        let steps: Vec<Term> =
            self.terms().iter().chain(&other.terms()).copied().filter(|term| term.factor > 0).collect();
        match solvable(&steps, other_high as i128 - low as i128, &mut { EFFORT }) {
            Answer::Yes => Overlap::Partial,
            Answer::No => Overlap::None,
            Answer::TooHard => Overlap::TooHard,
        }
    }

    /// Whether PyTorch refuses to write through one of these layouts while it reads the other. PyTorch
    /// decides this by simpler rules, and allows what they do not decide.
    ///
    /// Both layouts belong to one storage, with elements of the same size.
    ///
    /// Source: PyTorch `aten/src/ATen/MemoryOverlap.cpp`, `assert_no_partial_overlap`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[8])?);
    /// let shifted = x.narrow(0, 1, 7)?;
    /// assert!(x.narrow(0, 0, 7)?.pytorch_refuses(&shifted));
    /// assert!(!x.slice(0, None, None, 2)?.pytorch_refuses(&x));
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn pytorch_refuses(&self, other: &Layout) -> bool {
        let (Some((low, high)), Some((other_low, other_high))) = (self.span(), other.span()) else {
            return false;
        };
        if !self.is_non_overlapping_and_dense() || !other.is_non_overlapping_and_dense() {
            return false;
        }
        if (low, high) == (other_low, other_high) {
            return self.strides() != other.strides();
        }
        low <= other_high && other_low <= high
    }

    /// Whether the same index is the same element: equal, except for strides of dimensions of size 1.
    fn same_elements(&self, other: &Layout) -> bool {
        self.offset() == other.offset()
            && self.shape() == other.shape()
            && (self.shape().iter().zip(self.strides()).zip(other.strides()))
                .all(|((&size, a), b)| size == 1 || a == b)
    }

    /// The dimensions of more than one index, with the absolute values of their strides: steps up from the
    /// lowest element.
    fn terms(&self) -> Vec<Term> {
        let dims = self.shape().iter().zip(self.strides()).filter(|(size, _)| **size > 1);
        dims.map(|(&size, &stride)| Term { factor: (stride as i128).abs(), bound: size as i128 - 1 })
            .collect()
    }
}

//! Owns the check of constant shapes at compile time, and its message. It does not know the rule, which it
//! runs in a constant (`broadcast.rs`); it formats the error without `format!`.

use crate::broadcast::fold;
use crate::message::INCOMPATIBLE;
use crate::shape::Size;

/// The rank of the broadcast of two shapes of these ranks: the larger one.
///
/// ```
/// assert_eq!(zerostride_shape::broadcast_rank(2, 3), 3);
/// ```
pub const fn broadcast_rank(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// The shape that two constant shapes broadcast to, as an array of `R` sizes.
///
/// [`assert_broadcast!`](crate::assert_broadcast) determines `R` and makes sure that the check happens at
/// compile time.
///
/// # Panics
/// If the shapes do not broadcast, with the text of
/// [`ShapeError::Incompatible`](crate::ShapeError::Incompatible), or if `R` is not [`broadcast_rank`] of the
/// two. In a constant, a panic is a compile error.
///
/// ```
/// use zerostride_shape::broadcast_const;
///
/// const SHAPE: [usize; 4] = broadcast_const(&[5, 1, 4, 1], &[3, 1, 2]);
/// assert_eq!(SHAPE, [5, 3, 4, 2]);
/// ```
#[track_caller]
pub const fn broadcast_const<const R: usize>(a: &[Size], b: &[Size]) -> [Size; R] {
    assert!(R == broadcast_rank(a.len(), b.len()), "R must be the rank of the longer shape");
    let mut common = [1; R];
    let operands = [a, b];
    let mut next = 0;
    while next < operands.len() {
        if let Err(mismatch) = fold(&mut common, operands[next]) {
            let text = Text::incompatible(mismatch.a, mismatch.b, R - 1 - mismatch.from_right);
            panic!("{}", text.as_str());
        }
        next += 1;
    }
    common
}

/// Checks at compile time that two constant shapes broadcast, and evaluates to the resulting array of sizes.
///
/// A mismatch is a compile error with PyTorch's text.
///
/// ```
/// use zerostride_shape::assert_broadcast;
///
/// assert_broadcast!([4, 3], [1, 3]);
/// const SHAPE: [usize; 3] = assert_broadcast!([1], [3, 1, 7]);
/// assert_eq!(SHAPE, [3, 1, 7]);
/// ```
///
/// ```compile_fail
/// zerostride_shape::assert_broadcast!([1, 2, 3], [3, 3]);
/// ```
#[macro_export]
macro_rules! assert_broadcast {
    ([$($a:expr),* $(,)?], [$($b:expr),* $(,)?] $(,)?) => {
        const {
            const A: &[$crate::Size] = &[$($a),*];
            const B: &[$crate::Size] = &[$($b),*];
            $crate::broadcast_const::<{ $crate::broadcast_rank(A.len(), B.len()) }>(A, B)
        }
    };
}

/// Space for the three parts of the text and three numbers of 20 digits.
const ROOM: usize = INCOMPATIBLE[0].len() + INCOMPATIBLE[1].len() + INCOMPATIBLE[2].len() + 3 * 20;

/// A message that is built in a constant, where `format!` cannot run.
struct Text {
    bytes: [u8; ROOM],
    len: usize,
}

impl Text {
    const fn incompatible(a: Size, b: Size, dim: usize) -> Text {
        let numbers = [a, b, dim as Size];
        let mut text = Text { bytes: [0; ROOM], len: 0 };
        let mut next = 0;
        while next < numbers.len() {
            text.push_str(INCOMPATIBLE[next]);
            text.push_number(numbers[next]);
            next += 1;
        }
        text
    }

    const fn push_str(&mut self, piece: &str) {
        let mut at = 0;
        while at < piece.len() {
            self.bytes[self.len] = piece.as_bytes()[at];
            self.len += 1;
            at += 1;
        }
    }

    const fn push_number(&mut self, number: Size) {
        if number >= 10 {
            self.push_number(number / 10);
        }
        self.bytes[self.len] = b'0' + (number % 10) as u8;
        self.len += 1;
    }

    const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            // Only whole strings and digits were pushed.
            Err(_) => unreachable!(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_text_is_the_one_of_the_run_time_error() {
        for (a, b) in [(&[5, 2, 4, 1][..], &[3, 1, 1][..]), (&[0], &[3, 4]), (&[usize::MAX >> 1], &[10])] {
            let error = crate::broadcast_shape(&[a, b]).unwrap_err();
            let crate::ShapeError::Incompatible { a, b, dim, .. } = error else { panic!("{error}") };
            assert_eq!(Text::incompatible(a, b, dim).as_str(), error.to_string());
        }
    }

    #[test]
    fn the_longest_text_has_room() {
        assert!(
            Text::incompatible(usize::MAX, usize::MAX, usize::MAX).as_str().ends_with("18446744073709551615")
        );
    }

    #[test]
    fn constant_shapes_follow_the_run_time_rule() {
        const SHAPE: [usize; 2] = crate::assert_broadcast!([1, 3], [2, 1]);
        assert_eq!(SHAPE, [2, 3]);
        assert_eq!(crate::assert_broadcast!([], []), [0usize; 0]);
        assert_eq!(crate::assert_broadcast!([0], [1]), [0]);
    }

    #[test]
    #[should_panic(
        expected = "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"
    )]
    fn at_run_time_a_mismatch_panics_with_the_same_text() {
        broadcast_const::<3>(&[1, 2, 3], &[3, 3]);
    }
}

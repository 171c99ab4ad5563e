//! Owns vectors of elements that lie a few elements apart: which vectors of memory hold them, and what brings
//! them side by side. It does not know registers, nor where memory is.

use iced_x86::Code as Encoding;

use super::set::Set;

/// The most vectors of memory that are read for one.
const MOST_CHUNKS: u32 = 4;

/// A vector of elements that are `step` apart, out of as many vectors of memory. Each of these begins with
/// the last element of the one before, so that the last one ends where the elements do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    lanes: u32,
    /// Elements from one to the next in memory, and whether they are wanted from the last to the first.
    step: u32,
    is_reversed: bool,
}

impl Near {
    /// For so many lanes of so many bytes; `None` where single elements are copied.
    pub(super) fn new(step: i8, lanes: u32, bytes: u32, set: Set) -> Option<Near> {
        let near = Near { lanes, step: step.unsigned_abs().into(), is_reversed: step < 0 };
        let is_known = (1..=MOST_CHUNKS).contains(&near.step) && bytes >= 4 && lanes * bytes >= 32;
        (is_known && (set == Set::Avx512 || near.is_apart())).then_some(near)
    }

    /// Elements from one to the next, and vectors of memory.
    pub(super) fn step(self) -> u32 {
        self.step
    }

    /// Whether the first element is the last one in memory.
    pub(super) fn is_reversed(self) -> bool {
        self.is_reversed
    }

    /// The element that a vector of memory begins with, from the lowest one.
    pub(super) fn start(self, chunk: u32) -> u32 {
        chunk * (self.lanes - 1)
    }

    /// Which vector of memory has an element, and where.
    fn place(self, lane: u32) -> (u32, u32) {
        let lane = if self.is_reversed { self.lanes - 1 - lane } else { lane };
        let chunk = (self.step * lane / (self.lanes - 1)).min(self.step - 1);
        (chunk, self.step * lane - self.start(chunk))
    }

    /// Whether no two elements have the same place in their vectors.
    fn is_apart(self) -> bool {
        let mut is_taken = vec![false; self.lanes as usize];
        (0..self.lanes).all(|lane| !std::mem::replace(&mut is_taken[self.place(lane).1 as usize], true))
    }

    /// Where each element is in the vector so far, or, behind the lanes, in the next vector of memory.
    pub(super) fn permutation(self, chunk: u32) -> Vec<u32> {
        let from = |lane: u32| match self.place(lane) {
            (own, at) if own == chunk && chunk > 0 => self.lanes + at,
            (_, at) if chunk < 2 => at,
            _ => lane,
        };
        (0..self.lanes).map(from).collect()
    }

    /// Which places of a vector of memory have elements, as a bit for each of the words of these: with those
    /// of the others they are a vector in another order.
    pub(super) fn taken(self, chunk: u32, words: u32) -> u8 {
        let own = (0..self.lanes).map(|lane| self.place(lane)).filter(|&(own, _)| own == chunk);
        own.fold(0, |taken, (_, at)| taken | ((1 << words) - 1) << (at * words))
    }

    /// Where each element is in that vector, as places of its words.
    pub(super) fn order(self, words: u32) -> Vec<u32> {
        let first = (0..self.lanes).map(|lane| self.place(lane).1 * words);
        first.flat_map(|first| first..first + words).collect()
    }
}

/// The instruction of AVX-512 that permutes elements of so many bytes, those of a vector alone or of two.
pub(super) fn permute(is_alone: bool, bytes: u32, vector: u32) -> Encoding {
    match (is_alone, bytes, vector) {
        (true, 4, 64) => Encoding::EVEX_Vpermps_zmm_k1z_zmm_zmmm512b32,
        (true, 4, _) => Encoding::EVEX_Vpermps_ymm_k1z_ymm_ymmm256b32,
        (true, ..) => Encoding::EVEX_Vpermpd_zmm_k1z_zmm_zmmm512b64,
        (false, 4, 64) => Encoding::EVEX_Vpermt2ps_zmm_k1z_zmm_zmmm512b32,
        (false, 4, _) => Encoding::EVEX_Vpermt2ps_ymm_k1z_ymm_ymmm256b32,
        (false, ..) => Encoding::EVEX_Vpermt2pd_zmm_k1z_zmm_zmmm512b64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_memory_end_with_the_last_element() {
        for (step, lanes) in [(2, 16), (3, 8), (4, 8), (-1, 4), (-4, 16)] {
            let near = Near::new(step, lanes, 8, Set::Avx512).expect("it is near");
            assert_eq!(near.start(near.step() - 1) + lanes - 1, near.step * (lanes - 1));
        }
        // The third and the fourth element are at the ends of two vectors each.
        assert!(Near::new(3, 4, 8, Set::Avx2).is_none());
        assert!(Near::new(5, 8, 4, Set::Avx512).is_none());
        assert!(Near::new(2, 16, 2, Set::Avx512).is_none());
    }

    #[test]
    fn elements_are_side_by_side_in_the_end() {
        for step in [-4, -3, -2, -1, 1, 2, 3, 4] {
            let near = Near::new(step, 8, 4, Set::Avx2).expect("it is near");
            let memory: Vec<u32> = (0..near.step * 7 + 1).collect();
            let vector = |chunk: u32| &memory[near.start(chunk) as usize..][..8];
            let mut of_two: Vec<u32> = vector(0).to_vec();
            let mut blended = of_two.clone();
            for chunk in 0..near.step() {
                if chunk > 0 || near.step() == 1 {
                    let both: Vec<u32> = of_two.iter().chain(vector(chunk)).copied().collect();
                    of_two = near.permutation(chunk).iter().map(|&at| both[at as usize]).collect();
                }
                let own = (0..8).filter(|at| near.taken(chunk, 1) >> at & 1 == 1);
                own.for_each(|at| blended[at] = vector(chunk)[at]);
            }
            let mut wanted: Vec<u32> = (0..8).map(|lane| near.step * lane).collect();
            if step < 0 {
                wanted.reverse();
            }
            assert_eq!(of_two, wanted, "{step}");
            assert_eq!(near.order(1).iter().map(|&at| blended[at as usize]).collect::<Vec<_>>(), wanted);
        }
    }
}

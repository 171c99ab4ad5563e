//! Owns the copying of one row of bytes. It does not know layouts.

/// Bytes that one call of `memcpy` copies where a longer one would be slow: few enough for it to copy them by
/// vectors.
const PIECE_BYTES: usize = 2048;

/// The size of a page, and how far after the source, modulo that, the place of a copy may lie for `memcpy` to
/// be slow.
const PAGE_BYTES: usize = 4096;
const NEAR_BYTES: usize = 512;

/// Copies bytes. The C library copies more than 2 KiB by `rep movsb`, which AMD's processors run at 2 to 15
/// GB/s instead of 50 where the copy begins a few bytes further into a page than the source, as that of a row
/// that is shifted or comes after a short one; pieces are copied at 85 GB/s (Zen 3, in L2).
///
/// # Safety
/// So many bytes are readable and writable. They do not overlap, unless they are the same.
#[inline(always)]
pub unsafe fn copy_row(from: *const u8, to: *mut u8, bytes: usize) {
    let after = to.addr().wrapping_sub(from.addr()) % PAGE_BYTES;
    let is_near = bytes > PIECE_BYTES && (1..NEAR_BYTES).contains(&after);
    let piece = if is_near { PIECE_BYTES } else { bytes };
    for at in (0..bytes).step_by(piece.max(1)) {
        // SAFETY: the piece lies in the row, which is as the caller says.
        unsafe { to.add(at).copy_from(from.add(at), piece.min(bytes - at)) };
    }
}

/// The same of a slice to one as long.
///
/// # Panics
/// If they have different lengths.
#[inline(always)]
pub fn copy_slice<T: bytemuck::NoUninit>(from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "a copy is as long as the source");
    // SAFETY: both have so many bytes, and a slice that is written overlaps no other. The elements have no
    // padding, and any that is read may be written.
    unsafe { copy_row(from.as_ptr().cast(), to.as_mut_ptr().cast(), size_of_val(from)) };
}

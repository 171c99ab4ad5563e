//! Owns the functions of threaded code that must be written once for each instruction set, because target
//! features and calling conventions cannot be generic. What they do is in the primitives.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{uint8x16_t, vreinterpretq_u8_u16, vreinterpretq_u16_u8, vuzp2q_u16};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::mem::transmute;

#[cfg(target_arch = "aarch64")]
use ::half::f16;

#[cfg(target_arch = "aarch64")]
use super::cast::{CastFrom, CastTo};
use super::code::{
    self, Code, Entry, Prepare, Prepared, PreparedSplat, Primitive, RUN_REGISTERS, RegisterBytes, RunSpan,
    Set, StorePrimitive, Word,
};
use super::memory::Picks;
use super::single;
#[cfg(target_arch = "aarch64")]
use crate::lane::neon::{F32x4, F64x2};
#[cfg(target_arch = "x86_64")]
use crate::lane::{
    Quad,
    avx2::{F32x8, F64x4},
    avx512::{F32x16, F64x8},
};

/// An instruction set: name, register, lanes of `f32` and of `f64`, features, calling convention,
/// instructions.
macro_rules! set {
    ($(#[$doc:meta])* $set:ident $module:ident $register:ident $f32:ident $f64:ident ($f64s:ty) $features:literal $abi:literal {
        stream: $stream:path,
        fetch: $fetch:path,
        fetch_far: $fetch_far:path,
        widen_f16: |$from:ident| $widen:expr,
        narrow_f16: |$narrow_from:ident, $narrow_to:ident| $narrow:expr,
        upper_halves: |$lower:ident, $higher:ident| $upper:expr,
        pick: |$low:ident, $high:ident, $lanes:ident| $pick:expr,
    }) => {
        $(#[$doc])*
        pub(super) struct $set;

        #[expect(improper_ctypes_definitions, reason = "no C is called: the convention is chosen because it passes registers")]
        mod $module {
            use super::*;

            type R = $register;
            type Start = unsafe extern $abi fn(*const Word, usize);
            type Step = unsafe extern $abi fn(*const Word, usize, R, R, R, R, R, R, R, R);

            #[target_feature(enable = $features)]
            unsafe fn enter(words: &mut [Word], splats: *mut [PreparedSplat], span: &RunSpan) {
                let RunSpan { rows, from, to, by, last } = *span;
                for row in 0..rows {
                    for number in 0..splats.len() {
                        // SAFETY: the caller has the splats to itself, with an element for every row. The
                        // borrow ends before code reads the register.
                        unsafe {
                            let splat = &mut *splats.cast::<PreparedSplat>().add(number);
                            if row == 0 || splat.from.step != 0 {
                                splat.next::<$set>();
                            }
                        }
                    }
                    let code = words.as_ptr();
                    // SAFETY: the caller hands over code of this instruction set, valid for these offsets,
                    // that begins with a load.
                    unsafe {
                        let start = transmute::<Code, Start>((*code).code);
                        let mut at = from;
                        while at < to {
                            start(code, at);
                            at += by;
                        }
                        if let Some(at) = last {
                            start(code, at);
                        }
                    }
                    if row + 1 == rows {
                        break;
                    }
                    for word in &mut *words {
                        let address = word.address.wrapping_offset(word.row);
                        // SAFETY: it is borrowed. A volatile write keeps the compiler from gathering and
                        // scattering words, whose setup would be paid after each row.
                        unsafe { (&raw mut word.address).write_volatile(address) };
                    }
                }
            }

            #[target_feature(enable = $features)]
            unsafe extern $abi fn start<B: Primitive<$set>>(words: *const Word, at: usize) {
                // SAFETY: as for `step`; any bits are a register.
                unsafe {
                    let [r0, r1, r2, r3, r4, r5, r6, r7] = B::apply([std::mem::zeroed(); RUN_REGISTERS], words, at);
                    let words = words.add(B::WORDS);
                    let step = transmute::<Code, Step>((*words).code);
                    step(words, at, r0, r1, r2, r3, r4, r5, r6, r7)
                }
            }

            #[target_feature(enable = $features)]
            unsafe extern $abi fn step<B: Primitive<$set>>(
                words: *const Word, at: usize, r0: R, r1: R, r2: R, r3: R, r4: R, r5: R, r6: R, r7: R,
            ) {
                // SAFETY: the words are this function's, followed by those of a function of this instruction
                // set.
                unsafe {
                    let [r0, r1, r2, r3, r4, r5, r6, r7] = B::apply([r0, r1, r2, r3, r4, r5, r6, r7], words, at);
                    let words = words.add(B::WORDS);
                    let step = transmute::<Code, Step>((*words).code);
                    step(words, at, r0, r1, r2, r3, r4, r5, r6, r7)
                }
            }

            #[target_feature(enable = $features)]
            unsafe fn single<T, B: Primitive<$set>, K: StorePrimitive<$set>>(words: &mut [Word], _: *mut [PreparedSplat], span: &RunSpan) {
                // SAFETY: as the caller says.
                unsafe { single::run::<$set, T, B, K>(words, span) }
            }

            #[target_feature(enable = $features)]
            unsafe fn prepare<B: Prepared<$set>>(splat: *mut RegisterBytes) {
                // SAFETY: as the caller says.
                unsafe { B::prepare(splat) }
            }

            #[target_feature(enable = $features)]
            unsafe extern $abi fn store<B: StorePrimitive<$set>, const STREAM: bool>(
                words: *const Word, at: usize, r0: R, r1: R, r2: R, r3: R, r4: R, r5: R, r6: R, r7: R,
            ) {
                let packed = B::pack([r0, r1, r2, r3, r4, r5, r6, r7]);
                // SAFETY: there is room for the elements of the run, aligned if the stores are non-temporal.
                unsafe {
                    // For all that the compiler knows, the stores below might overwrite the word.
                    let out = *words;
                    if STREAM {
                        for i in 0..B::PACKED_REGISTERS {
                            $stream(out.packed::<$set, B>(at, i).cast(), packed[i]);
                        }
                        return;
                    }
                    if let Some(prefetch_bytes) = out.prefetch_bytes {
                        for i in 0..B::PACKED_REGISTERS {
                            $fetch(out.packed::<$set, B>(at, i).wrapping_byte_offset(prefetch_bytes).cast());
                        }
                    }
                    code::put::<$set, B>(&out, at, &packed);
                }
            }

            impl Set for $set {
                type Register = R;
                type F32 = $f32;
                type F64 = $f64;
                type F64s = $f64s;
                const ENTRY: Entry = enter;

                #[inline(always)]
                fn fetch(at: *const u8) {
                    // SAFETY: the processor has the instruction, which ignores addresses without memory.
                    #[allow(unused_unsafe, reason = "not every set has one")]
                    unsafe { $fetch_far(at.cast()) }
                }

                #[inline(always)]
                unsafe fn widen_f16($from: *const u8) -> R {
                    // SAFETY: the caller says that the processor has the instructions and that the elements
                    // exist.
                    unsafe { $widen }
                }

                #[inline(always)]
                unsafe fn narrow_f16($narrow_from: R, $narrow_to: *mut u8) {
                    // SAFETY: as above.
                    unsafe { $narrow }
                }

                #[inline(always)]
                unsafe fn upper_halves($lower: R, $higher: R) -> R {
                    // SAFETY: as above.
                    unsafe { $upper }
                }

                #[inline(always)]
                unsafe fn pick($low: R, $high: R, $lanes: &Picks) -> R {
                    // SAFETY: as above; there are lanes for a register.
                    unsafe { $pick }
                }

                #[inline(always)]
                fn start<B: Primitive<Self>>() -> Code {
                    // SAFETY: `Code` stands for functions of these types.
                    unsafe { transmute::<Start, Code>(start::<B>) }
                }

                #[inline(always)]
                fn step<B: Primitive<Self>>() -> Code {
                    // SAFETY: as above.
                    unsafe { transmute::<Step, Code>(step::<B>) }
                }

                #[inline(always)]
                fn single<T, B: Primitive<Self>, K: StorePrimitive<Self>>() -> Entry {
                    single::<T, B, K>
                }

                #[inline(always)]
                fn prepare<B: Prepared<Self>>() -> Prepare {
                    prepare::<B>
                }

                #[inline(always)]
                fn store<B: StorePrimitive<Self>>() -> Code {
                    // SAFETY: as above.
                    unsafe { transmute::<Step, Code>(store::<B, false>) }
                }

                #[inline(always)]
                fn stream<B: StorePrimitive<Self>>() -> Code {
                    // SAFETY: as above.
                    unsafe { transmute::<Step, Code>(store::<B, true>) }
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
set! {
    /// AVX-512 F, BW, DQ and VL.
    Avx512 avx512 __m512i F32x16 F64x8 (Quad<F64x8>) "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c" "sysv64" {
        stream: _mm512_stream_si512,
        fetch: _mm_prefetch::<_MM_HINT_T0>,
        fetch_far: _mm_prefetch::<_MM_HINT_T1>,
        widen_f16: |from| _mm512_castps_si512(_mm512_cvtph_ps(_mm256_loadu_si256(from.cast()))),
        narrow_f16: |register, to| {
            _mm256_storeu_si256(to.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_castsi512_ps(register)))
        },
        upper_halves: |low, high| {
            const ODD: [u16; 32] = {
                let (mut odd, mut i) = ([0; 32], 0);
                while i < odd.len() {
                    odd[i] = 2 * i as u16 + 1;
                    i += 1;
                }
                odd
            };
            _mm512_permutex2var_epi16(low, _mm512_loadu_si512(ODD.as_ptr().cast()), high)
        },
        pick: |low, high, lanes| _mm512_permutex2var_epi32(low, _mm512_loadu_si512(lanes.as_ptr().cast()), high),
    }
}

#[cfg(target_arch = "x86_64")]
set! {
    /// AVX2 with FMA and F16C.
    Avx2 avx2 __m256i F32x8 F64x4 (F64x4) "avx2,fma,f16c" "sysv64" {
        stream: _mm256_stream_si256,
        fetch: _mm_prefetch::<_MM_HINT_T0>,
        fetch_far: _mm_prefetch::<_MM_HINT_T1>,
        widen_f16: |from| _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128(from.cast()))),
        narrow_f16: |register, to| {
            _mm_storeu_si128(to.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_castsi256_ps(register)))
        },
        upper_halves: |low, high| {
            let [low, high] = [low, high].map(|from| _mm256_srli_epi32::<16>(from));
            _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(low, high))
        },
        pick: |low, high, lanes| {
            let lanes = _mm256_loadu_si256(lanes.as_ptr().cast());
            let [low, high] = [low, high].map(|from| _mm256_permutevar8x32_epi32(from, lanes));
            _mm256_blendv_epi8(low, high, _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(7)))
        },
    }
}

#[cfg(target_arch = "aarch64")]
set! {
    /// NEON, which every aarch64 has.
    Neon neon uint8x16_t F32x4 F64x2 (F64x2) "neon" "C" {
        stream: write,
        fetch: leave,
        fetch_far: leave,
        widen_f16: |from| transmute::<[f32; 4], uint8x16_t>(from.cast::<[f16; 4]>().read_unaligned().map(CastFrom::f32)),
        narrow_f16: |register, to| {
            to.cast::<[f16; 4]>().write_unaligned(transmute::<uint8x16_t, [f32; 4]>(register).map(<f16 as CastTo<f16>>::of))
        },
        upper_halves: |low, high| {
            let [low, high] = [low, high].map(|from| vreinterpretq_u16_u8(from));
            vreinterpretq_u8_u16(vuzp2q_u16(low, high))
        },
        pick: |low, high, lanes| {
            let both = transmute::<[uint8x16_t; 2], [u32; 8]>([low, high]);
            let &[a, b, c, d, ..] = lanes;
            transmute::<[u32; 4], uint8x16_t>([a, b, c, d].map(|lane| both[lane as usize]))
        },
    }
}

/// Stable Rust has no non-temporal store on aarch64.
#[cfg(target_arch = "aarch64")]
unsafe fn write(to: *mut uint8x16_t, register: uint8x16_t) {
    // SAFETY: there is room, the caller says.
    unsafe { to.write(register) }
}

/// Stable Rust has no prefetch on aarch64.
#[cfg(target_arch = "aarch64")]
fn leave(_: *const i8) {}

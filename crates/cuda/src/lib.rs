//! NVIDIA's driver, opened when a program first asks for a GPU: devices, their memory, kernels as text and
//! their launches. It does not know what kernels compute, nor tensors.
//!
//! All work of a device is on one stream, the default one, in the order of the calls: memory that is freed
//! after a launch is free when the kernel has run. The stream is PyTorch's, too, and waits for those of other
//! libraries that do not ask to be left out.
//!
//! `ZEROSTRIDE_CUDA` names the library in place of NVIDIA's (`libcuda.so.1`, `nvcuda.dll`).
//!
//! The crate is internal to `zerostride`, whose API is safe. What is public here is called by that crate
//! alone, and may change in any release.

// Contributors see it in `cargo doc`, users do not on docs.rs.
#![cfg_attr(docsrs, doc(hidden))]
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod driver;
mod error;

pub use driver::{Gpu, Kernel, Memory, Stream, device_count, device_of};
pub use error::Error;

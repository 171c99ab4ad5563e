//! Reading and writing files: what others wrote, what is damaged, what is random, what fails, what is
//! replaced.

#![cfg(feature = "io")]

mod faults;
mod golden;
mod injected;
#[cfg(feature = "mmap")]
#[allow(unsafe_code)]
mod mapped;
mod pieces;
mod random;
mod refused;
mod rewritten;
mod written;
#[cfg(feature = "zarr")]
mod zarr;

use std::io::Cursor;
use std::path::PathBuf;

use zerostride::io::{Container, Format};
use zerostride::{DType, Result, Tensor};
use zerostride_ops::{Element, with_type};

/// A file that NumPy or the reference implementation of safetensors wrote.
fn golden_path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "spec", "golden", "io", name].iter().collect()
}

fn golden_file(name: &str) -> Vec<u8> {
    std::fs::read(golden_path(name)).unwrap()
}

/// The content of every array in the golden files: see `spec/golden/io/make.py`.
fn pattern(dtype: DType, numel: usize) -> Vec<u8> {
    let bytes = (0..numel * dtype.item_size()).map(|j| (37 * j + 11) as u8);
    match dtype {
        DType::Bool => bytes.map(|byte| byte & 1).collect(),
        _ => bytes.collect(),
    }
}

/// The elements' bytes in row-major order, so that NaNs compare too.
fn elements(tensor: &Tensor) -> Vec<u8> {
    with_type!(tensor.dtype(), T => {
        let stored: Vec<_> = tensor.to_vec::<T>().unwrap().into_iter().map(|value| value.store()).collect();
        bytemuck::cast_slice(&stored).to_vec()
    })
}

/// A tensor with the golden files' content.
fn pattern_tensor(dtype: DType, shape: &[usize]) -> Tensor {
    let numel = shape.iter().product();
    let bytes = pattern(dtype, numel);
    with_type!(dtype, T => {
        let values: Vec<T> = bytes.chunks_exact(dtype.item_size()).map(|bytes| T::load(bytemuck::pod_read_unaligned(bytes))).collect();
        Tensor::from_slice(&values, shape).unwrap()
    })
}

/// Reads a whole file from memory.
fn read(format: Format, file: &[u8]) -> Result<Vec<(Option<String>, Tensor)>> {
    let mut container = Container::new(Cursor::new(file), format)?;
    (0..container.entries().len())
        .map(|index| Ok((container.entries()[index].name().map(str::to_owned), container.read(index)?)))
        .collect()
}

/// An NPY file of version 1.0.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

/// An NPY file of f32 with `shape` in Python's notation.
fn npy_of_shape(shape: &str, data: &[u8]) -> Vec<u8> {
    npy(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"), data)
}

/// A safetensors file.
fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

//! Owns what the driver refuses, as it tells it. It does not know what was wanted.

use std::fmt;

/// Why a device does not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no driver, or one that is too old.
    NoDriver {
        /// The library that was to be opened.
        library: String,
        /// What the system says.
        reason: String,
    },
    /// There are fewer devices.
    NoDevice {
        /// The device that was asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// No device has memory there.
    NoMemory {
        /// The address.
        address: u64,
    },
    /// No kernel is printed for a device of its age.
    TooOld {
        /// What NVIDIA calls it.
        name: String,
        /// Its compute capability.
        capability: [u32; 2],
    },
    /// The driver was opened by the parent of this process.
    Forked,
    /// A call of the driver failed, or a kernel before it.
    Call {
        /// The function that was called.
        function: &'static str,
        /// CUDA's number of the error.
        status: i32,
        /// CUDA's name of the error.
        name: String,
        /// What CUDA says about it.
        text: String,
    },
}

impl Error {
    /// Whether the device has no memory left.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::Call { status: 2, .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoDriver { library, reason } => {
                write!(f, "NVIDIA's driver cannot be used ({library}): {reason}")
            }
            Error::NoDevice { index, count } => {
                write!(f, "there is no device cuda:{index}: NVIDIA's driver has {count}")
            }
            Error::NoMemory { address } => {
                write!(f, "no device that this process uses has memory at {address:#x}")
            }
            Error::TooOld { name, capability: [major, minor] } => write!(
                f,
                "{name} has compute capability {major}.{minor}, and 7.5 (Turing) is the least that kernels are for"
            ),
            Error::Forked => f.write_str(
                "CUDA cannot be used in a forked process whose parent has used it; start processes with 'spawn'",
            ),
            Error::Call { function, name, text, .. } => write!(f, "CUDA error: {text} ({name}, {function})"),
        }
    }
}

impl std::error::Error for Error {}

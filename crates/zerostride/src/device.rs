//! Owns `Device`: where the elements of a tensor are. It does not know how anything gets there or is computed
//! there (`exec/device`).

use std::fmt;
use std::str::FromStr;

/// Where the elements of a tensor are, as PyTorch names it.
///
/// ```
/// use zerostride::{Device, tensor};
/// assert_eq!(tensor![1, 2].device(), Device::Cpu);
/// assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
/// assert_eq!(Device::Cuda(1).to_string(), "cuda:1");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Device {
    /// The memory of the process, where processors compute.
    #[default]
    Cpu,
    /// An NVIDIA GPU, by its number, with the feature `cuda`.
    Cuda(usize),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

/// A text that names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no device '{0}': it is 'cpu', 'cuda' or, with a number, 'cuda:1'")]
pub struct UnknownDevice(String);

impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Device, UnknownDevice> {
        let device = match text.split_once(':') {
            None if text == "cpu" => Some(Device::Cpu),
            None if text == "cuda" => Some(Device::Cuda(0)),
            Some(("cpu", "0")) => Some(Device::Cpu),
            Some(("cuda", index)) => index.parse().ok().map(Device::Cuda),
            _ => None,
        };
        device.ok_or_else(|| UnknownDevice(text.to_owned()))
    }
}

//! Owns the entry points of `libcuda` that zerostride calls, on devices that are emulated, under their names.
//! It does not know who calls them.
//!
//! All work is done when a call returns, on every stream. As on a GPU, a kernel that does what it must not is
//! told by a later call, and the device is lost for the rest of the process; why is printed on standard
//! error.
//!
//! The environment says what is emulated when the driver is initialised: `ZEROSTRIDE_EMULATOR_DEVICES` (2),
//! the bytes of each device, `ZEROSTRIDE_EMULATOR_MEMORY` (1 GiB), and after how many launches it is lost,
//! `ZEROSTRIDE_EMULATOR_LAUNCHES` (never).

use std::cell::RefCell;
use std::collections::HashMap;
use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Memory, Module};

type Status = c_int;

const SUCCESS: Status = 0;
const INVALID_VALUE: Status = 1;
const OUT_OF_MEMORY: Status = 2;
const NOT_INITIALIZED: Status = 3;
const NO_DEVICE: Status = 100;
const INVALID_DEVICE: Status = 101;
const INVALID_CONTEXT: Status = 201;
const INVALID_PTX: Status = 218;
const INVALID_HANDLE: Status = 400;
const NOT_FOUND: Status = 500;
const ILLEGAL_ADDRESS: Status = 700;
const LAUNCH_FAILED: Status = 719;

/// `CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE`.
const L2_CACHE_SIZE: c_int = 38;
/// `CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED`.
const MEMORY_POOLS_SUPPORTED: c_int = 115;
const CAPABILITY_MAJOR: c_int = 75;

/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
const DEVICE_ORDINAL: c_int = 9;

/// The number, name and text of each status.
const STATUSES: [(Status, &CStr, &CStr); 12] = [
    (SUCCESS, c"CUDA_SUCCESS", c"no error"),
    (INVALID_VALUE, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (OUT_OF_MEMORY, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (NOT_INITIALIZED, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (NO_DEVICE, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
    (INVALID_DEVICE, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (INVALID_CONTEXT, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
    (INVALID_PTX, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
    (INVALID_HANDLE, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
    (NOT_FOUND, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (ILLEGAL_ADDRESS, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
    (LAUNCH_FAILED, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
];

/// What is emulated; nothing before `cuInit`.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

thread_local! {
    /// The contexts of a thread, which are the numbers of devices.
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

struct Driver {
    devices: Vec<Device>,
    modules: HashMap<usize, Arc<Module>>,
    last_module: usize,
}

struct Device {
    memory: Memory,
    free_bytes: usize,
    launches_left: u64,
    /// Whether a context of it was asked for.
    in_use: bool,
    /// Why nothing works any more.
    lost: Option<Status>,
}

fn setting(name: &str, usual: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

impl Driver {
    fn new() -> Driver {
        let device = |number| Device {
            memory: Memory::of_device(number),
            free_bytes: setting("ZEROSTRIDE_EMULATOR_MEMORY", 1 << 30) as usize,
            launches_left: setting("ZEROSTRIDE_EMULATOR_LAUNCHES", u64::MAX),
            in_use: false,
            lost: None,
        };
        let devices = (0..setting("ZEROSTRIDE_EMULATOR_DEVICES", 2) as usize).map(device).collect();
        Driver { devices, modules: HashMap::new(), last_module: 0 }
    }

    /// The number of the device of the context that is current on this thread.
    fn current_number(&self) -> Result<usize, Status> {
        CONTEXTS.with_borrow(|contexts| contexts.last().copied()).ok_or(INVALID_CONTEXT)
    }

    /// The device of the context that is current on this thread.
    fn current(&mut self) -> Result<&mut Device, Status> {
        let number = self.current_number()?;
        let device = &mut self.devices[number];
        device.lost.map_or(Ok(device), Err)
    }

    fn number(&self, device: c_int) -> Result<usize, Status> {
        usize::try_from(device).ok().filter(|&number| number < self.devices.len()).ok_or(INVALID_DEVICE)
    }

    /// The device of a context.
    fn of_context(&self, context: *mut c_void) -> Result<usize, Status> {
        (context.addr().checked_sub(1)).filter(|&number| number < self.devices.len()).ok_or(INVALID_CONTEXT)
    }
}

impl Device {
    fn allocate(&mut self, bytes: usize) -> Result<u64, Status> {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        self.free_bytes = self.free_bytes.checked_sub(bytes).ok_or(OUT_OF_MEMORY)?;
        Ok(self.memory.add(bytes, 0))
    }

    fn launch(&mut self, module: &Module, blocks: c_uint, arguments: &[u64]) {
        let Some(left) = self.launches_left.checked_sub(1) else {
            self.lost = Some(LAUNCH_FAILED);
            return;
        };
        self.launches_left = left;
        let run = AssertUnwindSafe(|| module.run(blocks, arguments, &mut self.memory));
        if catch_unwind(run).is_err() {
            self.lost = Some(ILLEGAL_ADDRESS);
        }
    }
}

/// A call of an initialised driver.
fn call(work: impl FnOnce(&mut Driver) -> Result<(), Status>) -> Status {
    let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(driver) = &mut *driver else { return NOT_INITIALIZED };
    match catch_unwind(AssertUnwindSafe(|| work(driver))) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => INVALID_VALUE,
    }
}

/// Writes a result.
///
/// # Safety
/// The pointer is null or a caller's variable.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: it is a variable of the caller.
    unsafe { to.write(value) };
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: c_uint) -> Status {
    let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let driver = driver.get_or_insert_with(Driver::new);
    match (flags, driver.devices.is_empty()) {
        (0, false) => SUCCESS,
        (0, true) => NO_DEVICE,
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Status {
    // SAFETY: the caller's variable.
    call(|driver| unsafe { put(count, driver.devices.len() as c_int) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Status {
    // SAFETY: the caller's variable.
    call(|driver| driver.number(ordinal).and_then(|_| unsafe { put(device, ordinal) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> Status {
    call(|driver| {
        let text = format!("emulated device {}", driver.number(device)?);
        let bytes = text.bytes().take((len as usize).saturating_sub(1)).chain([0]);
        // SAFETY: the caller's array of so many bytes.
        bytes.enumerate().try_for_each(|(at, byte)| unsafe { put(name.wrapping_add(at), byte as c_char) })
    })
}

/// The first device has pools of memory, no device any other feature that may be missing.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> Status {
    let has = |number: usize| match attribute {
        MEMORY_POOLS_SUPPORTED => c_int::from(number == 0),
        CAPABILITY_MAJOR => 8,
        L2_CACHE_SIZE => setting("ZEROSTRIDE_EMULATOR_CACHE", 1 << 12) as c_int,
        _ => 0,
    };
    // SAFETY: the caller's variable.
    call(|driver| driver.number(device).and_then(|number| unsafe { put(value, has(number)) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetDefaultMemPool(pool: *mut *mut c_void, device: c_int) -> Status {
    // SAFETY: the caller's variable.
    call(|driver| driver.number(device).and_then(|_| unsafe { put(pool, pool.cast()) }))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemPoolSetAttribute(pool: *mut c_void, _attribute: c_int, value: *mut c_void) -> Status {
    call(|_| if pool.is_null() || value.is_null() { Err(INVALID_VALUE) } else { Ok(()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> Status {
    call(|driver| {
        let number = driver.number(device)?;
        driver.devices[number].in_use = true;
        // SAFETY: the caller's variable.
        unsafe { put(context, std::ptr::without_provenance_mut(number + 1)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxGetState(
    device: c_int,
    flags: *mut c_uint,
    active: *mut c_int,
) -> Status {
    call(|driver| {
        let number = driver.number(device)?;
        // SAFETY: the caller's variables.
        unsafe { put(flags, 0).and_then(|()| put(active, driver.devices[number].in_use.into())) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPushCurrent_v2(context: *mut c_void) -> Status {
    call(|driver| {
        let number = driver.of_context(context)?;
        CONTEXTS.with_borrow_mut(|contexts| contexts.push(number));
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut *mut c_void) -> Status {
    call(|_| {
        let number = CONTEXTS.with_borrow_mut(Vec::pop).ok_or(INVALID_CONTEXT)?;
        // SAFETY: the caller's variable.
        unsafe { put(context, std::ptr::without_provenance_mut(number + 1)) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> Status {
    call(|driver| {
        let number = driver.of_context(context)?;
        CONTEXTS.with_borrow_mut(|contexts| {
            contexts.pop();
            contexts.push(number);
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> Status {
    call(|driver| driver.current().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(_stream: *mut c_void) -> Status {
    cuCtxSynchronize()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, _flags: c_uint) -> Status {
    // SAFETY: the caller's variable.
    call(|driver| driver.current().map(drop).and_then(|()| unsafe { put(event, event.cast()) }))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: *mut c_void, _stream: *mut c_void) -> Status {
    call(|driver| if event.is_null() { Err(INVALID_HANDLE) } else { driver.current().map(drop) })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: *mut c_void) -> Status {
    cuEventRecord(event, std::ptr::null_mut())
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: c_uint) -> Status {
    cuEventRecord(event, stream)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Status {
    // SAFETY: the caller's variable.
    call(|driver| driver.current()?.allocate(bytes).and_then(|start| unsafe { put(address, start) }))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> Status {
    call(|driver| {
        let device = driver.current()?;
        device.free_bytes += device.memory.remove(address).ok_or(INVALID_VALUE)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocAsync(address: *mut u64, bytes: usize, _stream: *mut c_void) -> Status {
    // SAFETY: the caller's variable.
    unsafe { cuMemAlloc_v2(address, bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeAsync(address: u64, _stream: *mut c_void) -> Status {
    cuMemFree_v2(address)
}

/// Only of memory of the current device: some drivers tell of no other one.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: u64) -> Status {
    call(|driver| {
        let number = driver.current_number()?;
        if attribute != DEVICE_ORDINAL || driver.current()?.memory.get(address, 1).is_none() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's variable.
        unsafe { put(value.cast(), number as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> Status {
    call(|driver| {
        let to = driver.current()?.memory.get(to, bytes).ok_or(INVALID_VALUE)?;
        // SAFETY: the caller has as many bytes there.
        to.copy_from_slice(unsafe { std::slice::from_raw_parts(from.cast(), bytes) });
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> Status {
    call(|driver| {
        let from = driver.current()?.memory.get(from, bytes).ok_or(INVALID_VALUE)?;
        // SAFETY: the caller has room for as many bytes there, apart from the device's memory.
        unsafe { to.cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), bytes) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, text: *const c_void) -> Status {
    call(|driver| {
        driver.current()?;
        // SAFETY: the caller's text ends with a zero.
        let text = unsafe { CStr::from_ptr(text.cast()) }.to_str().map_err(|_| INVALID_PTX)?;
        let parsed = catch_unwind(|| Module::parse(text)).map_err(|_| INVALID_PTX)?;
        driver.last_module += 1;
        driver.modules.insert(driver.last_module, Arc::new(parsed));
        // SAFETY: the caller's variable.
        unsafe { put(module, std::ptr::without_provenance_mut(driver.last_module)) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: *mut c_void) -> Status {
    call(|driver| driver.modules.remove(&module.addr()).map(drop).ok_or(INVALID_HANDLE))
}

/// A function is the module that has it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> Status {
    call(|driver| {
        let known = driver.modules.get(&module.addr()).ok_or(INVALID_HANDLE)?;
        // SAFETY: the caller's text ends with a zero.
        if unsafe { CStr::from_ptr(name) }.to_bytes() != known.name.as_bytes() {
            return Err(NOT_FOUND);
        }
        // SAFETY: the caller's variable.
        unsafe { put(function, module) }
    })
}

/// The number of the arguments is the kernel's.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    blocks: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    shared_bytes: c_uint,
    _stream: *mut c_void,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Status {
    call(|driver| {
        let module = Arc::clone(driver.modules.get(&function.addr()).ok_or(INVALID_HANDLE)?);
        let is_flat = [blocks_y, blocks_z, threads_y, threads_z] == [1; 4] && shared_bytes == 0;
        if blocks == 0 || threads as usize != module.threads || !is_flat || !extra.is_null() {
            return Err(INVALID_VALUE);
        }
        let device = driver.current()?;
        // SAFETY: the first parameter is an array of as many words as the kernel declares.
        let arguments = unsafe {
            std::slice::from_raw_parts((*parameters).cast::<u64>(), module.argument_bytes as usize / 8)
        };
        device.launch(&module, blocks, arguments);
        Ok(())
    })
}

fn told(status: Status) -> Option<&'static (Status, &'static CStr, &'static CStr)> {
    STATUSES.iter().find(|(own, ..)| *own == status)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(status: Status, name: *mut *const c_char) -> Status {
    // SAFETY: the caller's variable.
    call(|_| told(status).ok_or(INVALID_VALUE).and_then(|(_, text, _)| unsafe { put(name, text.as_ptr()) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(status: Status, text: *mut *const c_char) -> Status {
    // SAFETY: the caller's variable.
    call(|_| told(status).ok_or(INVALID_VALUE).and_then(|(_, _, own)| unsafe { put(text, own.as_ptr()) }))
}

//! Owns the calls of the driver: its functions, found by name in a library, and the context of each device,
//! in which all calls run. It does not know what kernels compute.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::process;
use std::ptr;

use libloading::Library;
use once_cell::race::OnceBox;

use crate::Error;

/// What a function returns: 0 if it has done what was asked.
type Status = c_int;

/// The default stream, which all threads share.
const STREAM: *mut c_void = ptr::null_mut();

/// `CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED`.
const MEMORY_POOLS_SUPPORTED: c_int = 115;
/// Those that are its compute capability.
const CAPABILITY: [c_int; 2] = [75, 76];
/// The least that the kernels are printed for.
const LEAST_CAPABILITY: [c_int; 2] = [7, 5];

/// `CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE`.
const L2_CACHE_SIZE: c_int = 38;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`.
const RELEASE_THRESHOLD: c_int = 4;

/// Bytes that a device's pool keeps for reuse. It would give all back whenever the device is waited for, and
/// getting them again takes as long as many kernels.
const KEPT_BYTES: u64 = 1 << 30;

/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
const DEVICE_ORDINAL: c_int = 9;

/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: Status = 1;

/// `CU_EVENT_DISABLE_TIMING`.
const WITHOUT_TIME: c_uint = 2;

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The functions of the driver, as NVIDIA's "CUDA Driver API" has them since version 11.2.
        #[expect(non_snake_case, reason = "they are NVIDIA's names")]
        #[derive(Debug)]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> Status,)*
        }

        impl Functions {
            /// Finds all of them.
            ///
            /// # Safety
            /// The library is NVIDIA's driver, or has functions that do the same under their names.
            unsafe fn find(library: &Library) -> Result<Functions, libloading::Error> {
                // SAFETY: the types are those of the functions of these names.
                unsafe { Ok(Functions { $($name: *library.get(stringify!($name))?,)* }) }
            }
        }
    };
}

functions! {
    cuInit(c_uint);
    cuGetErrorName(Status, *mut *const c_char);
    cuGetErrorString(Status, *mut *const c_char);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDeviceGetAttribute(*mut c_int, c_int, c_int);
    cuDeviceGetDefaultMemPool(*mut *mut c_void, c_int);
    cuMemPoolSetAttribute(*mut c_void, c_int, *mut c_void);
    cuDevicePrimaryCtxRetain(*mut *mut c_void, c_int);
    cuDevicePrimaryCtxGetState(c_int, *mut c_uint, *mut c_int);
    cuCtxPushCurrent_v2(*mut c_void);
    cuCtxPopCurrent_v2(*mut *mut c_void);
    cuStreamSynchronize(*mut c_void);
    cuStreamWaitEvent(*mut c_void, *mut c_void, c_uint);
    cuEventCreate(*mut *mut c_void, c_uint);
    cuEventRecord(*mut c_void, *mut c_void);
    cuEventDestroy_v2(*mut c_void);
    cuMemAlloc_v2(*mut u64, usize);
    cuMemFree_v2(u64);
    cuMemAllocAsync(*mut u64, usize, *mut c_void);
    cuMemFreeAsync(u64, *mut c_void);
    cuPointerGetAttribute(*mut c_void, c_int, u64);
    cuMemcpyHtoD_v2(u64, *const c_void, usize);
    cuMemcpyDtoH_v2(*mut c_void, u64, usize);
    cuModuleLoadData(*mut *mut c_void, *const c_void);
    cuModuleUnload(*mut c_void);
    cuModuleGetFunction(*mut *mut c_void, *mut c_void, *const c_char);
    cuLaunchKernel(
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void,
        *mut *mut c_void
    );
}

/// Calls a function of the driver by its name.
macro_rules! call {
    ($driver:expr, $name:ident($($argument:expr),* $(,)?)) => {
        $driver.check(stringify!($name), ($driver.functions.$name)($($argument),*))
    };
}

/// The driver, which stays open as long as the process.
#[derive(Debug)]
struct Driver {
    functions: Functions,
    /// The process that opened it: it is of no use to a child.
    process: u32,
    /// Those that were opened: one that could not be used may be asked again.
    devices: Vec<OnceBox<Gpu>>,
    _library: Library,
}

/// The driver, opened by the first call.
fn driver() -> Result<&'static Driver, Error> {
    static DRIVER: OnceBox<Result<Driver, Error>> = OnceBox::new();
    let driver = DRIVER.get_or_init(|| Box::new(Driver::open())).as_ref().map_err(Error::clone)?;
    if driver.process == process::id() { Ok(driver) } else { Err(Error::Forked) }
}

/// How many devices there are.
///
/// # Errors
/// There is no driver.
pub fn device_count() -> Result<usize, Error> {
    Ok(driver()?.devices.len())
}

/// The device that has the memory at an address. Those are asked that the process uses: no other one has
/// memory of it, and to ask one would take memory there. All are asked: from CUDA 10.2 on a driver may tell
/// of the current device's memory only (<https://github.com/cupy/cupy/issues/3991>).
///
/// # Errors
/// There is no driver, or no device has memory there.
pub fn device_of(address: u64) -> Result<usize, Error> {
    let driver = driver()?;
    let mut refused = Error::NoMemory { address };
    for index in 0..driver.devices.len() {
        if !driver.is_in_use(index)? {
            continue;
        }
        let mut found: c_int = 0;
        let to = ptr::from_mut(&mut found).cast();
        // SAFETY: this attribute is such a number, which is written to a variable.
        let asked =
            |driver: &Driver| unsafe { call!(driver, cuPointerGetAttribute(to, DEVICE_ORDINAL, address)) };
        match Gpu::open(index).and_then(|gpu| gpu.within(asked)) {
            Ok(()) => return Ok(found as usize),
            Err(Error::Call { status: INVALID_VALUE, .. }) => {}
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

impl Driver {
    fn open() -> Result<Driver, Error> {
        let usual = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
        let name = env::var_os("ZEROSTRIDE_CUDA").unwrap_or_else(|| usual.into());
        let absent = |error: libloading::Error| Error::NoDriver {
            library: name.to_string_lossy().into_owned(),
            reason: error.to_string(),
        };
        // SAFETY: it is NVIDIA's driver by its name, or the one that the user names in its place, whose
        // initialisation may run and whose functions are those of the driver.
        let (library, functions) = unsafe {
            let library = Library::new(&name).map_err(absent)?;
            let functions = Functions::find(&library).map_err(absent)?;
            (library, functions)
        };
        let devices = Vec::new();
        let mut driver = Driver { functions, process: process::id(), devices, _library: library };
        let mut count = 0;
        // SAFETY: the driver is initialised first; the count is written to a variable.
        unsafe {
            call!(driver, cuInit(0))?;
            call!(driver, cuDeviceGetCount(&mut count))?;
        }
        driver.devices.resize_with(usize::try_from(count).unwrap_or(0), OnceBox::new);
        Ok(driver)
    }

    /// Whether this process has the device's primary context, this library or another one.
    fn is_in_use(&self, index: usize) -> Result<bool, Error> {
        let (mut device, mut flags, mut active) = (0, 0, 0);
        // SAFETY: all results are written to variables.
        unsafe {
            call!(self, cuDeviceGet(&mut device, index as c_int))?;
            call!(self, cuDevicePrimaryCtxGetState(device, &mut flags, &mut active))?;
        }
        Ok(active != 0)
    }

    /// What a status says.
    fn check(&self, function: &'static str, status: Status) -> Result<(), Error> {
        if status == 0 {
            return Ok(());
        }
        let text = |find: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text = ptr::null();
            // SAFETY: the driver sets the variable to a text that it keeps, or leaves it null.
            let known =
                unsafe { (find(status, &mut text) == 0 && !text.is_null()).then(|| CStr::from_ptr(text)) };
            known.map_or_else(|| format!("error {status}"), |text| text.to_string_lossy().into_owned())
        };
        let (name, text) = (text(self.functions.cuGetErrorName), text(self.functions.cuGetErrorString));
        Err(Error::Call { function, status, name, text })
    }
}

/// A device with its primary context, which all libraries of a process share.
#[derive(Debug)]
pub struct Gpu {
    index: usize,
    name: String,
    context: *mut c_void,
    has_pool: bool,
    cache_bytes: u64,
}

// SAFETY: the context is a name for the driver's own data, which any thread may use.
unsafe impl Send for Gpu {}
// SAFETY: as for `Send`; the driver's functions may be called by several threads at once.
unsafe impl Sync for Gpu {}

/// A stream of another library, as it names it: 0 and 1 are the default one, 2 that of the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub usize);

impl Gpu {
    /// The device of an index.
    ///
    /// # Errors
    /// There is no driver or no such device, or the driver cannot use it.
    pub fn open(index: usize) -> Result<&'static Gpu, Error> {
        let driver = driver()?;
        let device =
            driver.devices.get(index).ok_or(Error::NoDevice { index, count: driver.devices.len() })?;
        device.get_or_try_init(|| Gpu::retain(driver, index).map(Box::new))
    }

    fn retain(driver: &Driver, index: usize) -> Result<Gpu, Error> {
        let (mut device, mut pools, mut cache, mut context, mut name) = (0, 0, 0, ptr::null_mut(), [0; 128]);
        let (mut pool, mut kept, mut capability) = (ptr::null_mut(), KEPT_BYTES, [0; 2]);
        // SAFETY: all results are written to variables, the name to an array of the length that is told. The
        // attribute of a pool is a number of 64 bits.
        let name = unsafe {
            call!(driver, cuDeviceGet(&mut device, index as c_int))?;
            call!(driver, cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device))?;
            call!(driver, cuDeviceGetAttribute(&mut pools, MEMORY_POOLS_SUPPORTED, device))?;
            call!(driver, cuDeviceGetAttribute(&mut cache, L2_CACHE_SIZE, device))?;
            for (number, attribute) in capability.iter_mut().zip(CAPABILITY) {
                call!(driver, cuDeviceGetAttribute(number, attribute, device))?;
            }
            let name = CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned();
            if capability < LEAST_CAPABILITY {
                return Err(Error::TooOld { name, capability: capability.map(|number| number as u32) });
            }
            call!(driver, cuDevicePrimaryCtxRetain(&mut context, device))?;
            if pools != 0 {
                call!(driver, cuDeviceGetDefaultMemPool(&mut pool, device))?;
                let kept = ptr::from_mut(&mut kept).cast();
                call!(driver, cuMemPoolSetAttribute(pool, RELEASE_THRESHOLD, kept))?;
            }
            name
        };
        Ok(Gpu { index, name, context, has_pool: pools != 0, cache_bytes: u64::from(cache.unsigned_abs()) })
    }

    /// The number of the device.
    pub fn index(&self) -> usize {
        self.index
    }

    /// What NVIDIA calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of its second-level cache.
    pub fn cache_bytes(&self) -> u64 {
        self.cache_bytes
    }

    /// Calls the driver in the device's context, which is current on this thread meanwhile.
    fn within<R>(&self, work: impl FnOnce(&Driver) -> Result<R, Error>) -> Result<R, Error> {
        let driver = driver()?;
        // SAFETY: the context is retained for ever. The one that was current before is so again, as no call
        // between leaves another one.
        unsafe {
            call!(driver, cuCtxPushCurrent_v2(self.context))?;
            let result = work(driver);
            call!(driver, cuCtxPopCurrent_v2(&mut ptr::null_mut()))?;
            result
        }
    }

    /// Memory of so many bytes, at least one, of any values.
    ///
    /// # Errors
    /// The device has not as much left ([`Error::is_out_of_memory`]), or does not work.
    pub fn allocate(&'static self, bytes: usize) -> Result<Memory, Error> {
        let (mut address, count) = (0, bytes.max(1));
        // SAFETY: the address is written to a variable.
        self.within(|driver| unsafe {
            match self.has_pool {
                true => call!(driver, cuMemAllocAsync(&mut address, count, STREAM)),
                false => call!(driver, cuMemAlloc_v2(&mut address, count)),
            }
        })?;
        Ok(Memory { gpu: self, address, bytes })
    }

    /// Copies bytes to an address of the device, after the work that it has been given before.
    ///
    /// # Errors
    /// The device does not work.
    ///
    /// # Safety
    /// From the address on, the device has memory of as many bytes, which no other code uses meanwhile.
    pub unsafe fn upload(&self, from: &[u8], to: u64) -> Result<(), Error> {
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: the slice is there until the call returns, which is when it has been read.
        self.within(|driver| unsafe { call!(driver, cuMemcpyHtoD_v2(to, from.as_ptr().cast(), from.len())) })
    }

    /// Copies bytes from an address of the device, after the work that it has been given before.
    ///
    /// # Errors
    /// The device does not work.
    ///
    /// # Safety
    /// From the address on, the device has memory of as many bytes, which no other code writes meanwhile.
    pub unsafe fn download(&self, from: u64, to: &mut [u8]) -> Result<(), Error> {
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: the slice is the caller's until the call returns, which is when it has been written.
        self.within(|driver| unsafe {
            call!(driver, cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, to.len()))
        })
    }

    /// The kernel of a module, which the driver assembles.
    ///
    /// # Errors
    /// The driver cannot assemble the text, or it has no such entry.
    pub fn kernel(&'static self, text: &str, entry: &str) -> Result<Kernel, Error> {
        let ended = |text: &str| CString::new(text).unwrap_or_default();
        let (text, entry) = (ended(text), ended(entry));
        let mut module = ptr::null_mut();
        // SAFETY: both texts end with a zero; the module is written to a variable, and is unloaded when the
        // kernel is dropped.
        self.within(|driver| unsafe { call!(driver, cuModuleLoadData(&mut module, text.as_ptr().cast())) })?;
        let mut kernel = Kernel { gpu: self, module, function: ptr::null_mut() };
        // SAFETY: as above; the function is the module's.
        self.within(|driver| unsafe {
            call!(driver, cuModuleGetFunction(&mut kernel.function, module, entry.as_ptr()))
        })?;
        Ok(kernel)
    }

    /// Has a kernel run with so many blocks, at least one, of so many threads, after the work that the device
    /// has been given before. Its only parameter is an array of words.
    ///
    /// # Errors
    /// The device does not work: what this kernel does is told by later calls.
    ///
    /// # Safety
    /// The kernel is of this device and has as many words in its parameter, and what it touches with them is
    /// memory of the device, that no code but work of this device uses until it has run.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        (blocks, threads): (u32, u32),
        arguments: &[u64],
    ) -> Result<(), Error> {
        let mut parameters = [arguments.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: the kernel's module is loaded, the driver copies the parameter before the call returns, and
        // the caller vouches for what the kernel touches.
        self.within(|driver| unsafe {
            let (parameters, none) = (parameters.as_mut_ptr(), ptr::null_mut());
            call!(
                driver,
                cuLaunchKernel(kernel.function, blocks, 1, 1, threads, 1, 1, 0, STREAM, parameters, none)
            )
        })
    }

    /// Waits for all work that the device has been given here.
    ///
    /// # Errors
    /// The device does not work, or a kernel has done what it must not.
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: the default stream is always there.
        self.within(|driver| unsafe { call!(driver, cuStreamSynchronize(STREAM)) })
    }

    /// Has another library's stream wait for all work that the device has been given here.
    ///
    /// # Errors
    /// The device does not work, or the stream is none.
    ///
    /// # Safety
    /// The stream is one of this device that exists.
    pub unsafe fn precede(&self, stream: Stream) -> Result<(), Error> {
        // SAFETY: the caller vouches for the stream.
        unsafe { self.order(stream, |other| (STREAM, other)) }
    }

    /// Has all work that the device is given here from now on wait for that of another library's stream.
    ///
    /// # Errors
    /// As [`Gpu::precede`].
    ///
    /// # Safety
    /// As [`Gpu::precede`].
    pub unsafe fn follow(&self, stream: Stream) -> Result<(), Error> {
        // SAFETY: the caller vouches for the stream.
        unsafe { self.order(stream, |other| (other, STREAM)) }
    }

    /// Has the second stream wait for the first, of which one is another library's.
    ///
    /// # Safety
    /// The stream is one of this device that exists.
    unsafe fn order(
        &self,
        stream: Stream,
        in_order: impl FnOnce(*mut c_void) -> (*mut c_void, *mut c_void),
    ) -> Result<(), Error> {
        // The default stream is the one of this work.
        if stream.0 < 2 {
            return Ok(());
        }
        let (first, second) = in_order(ptr::without_provenance_mut(stream.0));
        let mut event = ptr::null_mut();
        // SAFETY: the event is written to a variable and is there until it is destroyed, after which the
        // driver keeps what it still needs; the caller vouches for the stream.
        self.within(|driver| unsafe {
            call!(driver, cuEventCreate(&mut event, WITHOUT_TIME))?;
            let waits = call!(driver, cuEventRecord(event, first))
                .and_then(|()| call!(driver, cuStreamWaitEvent(second, event, 0)));
            call!(driver, cuEventDestroy_v2(event))?;
            waits
        })
    }
}

/// Memory of a device, which is freed once all work that it has been given before the drop is done.
#[derive(Debug)]
pub struct Memory {
    gpu: &'static Gpu,
    address: u64,
    bytes: usize,
}

impl Memory {
    /// The address of the first byte, which only the device can use.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A device that does not work any more, or that the parent of this process has, frees nothing.
        // SAFETY: the memory was allocated in the same way, and this was its only owner.
        let _ = self.gpu.within(|driver| unsafe {
            match self.gpu.has_pool {
                true => call!(driver, cuMemFreeAsync(self.address, STREAM)),
                false => call!(driver, cuMemFree_v2(self.address)),
            }
        });
    }
}

/// A kernel that a device can run.
#[derive(Debug)]
pub struct Kernel {
    gpu: &'static Gpu,
    module: *mut c_void,
    function: *mut c_void,
}

// SAFETY: both are names for the driver's own data, which any thread may use.
unsafe impl Send for Kernel {}
// SAFETY: as for `Send`.
unsafe impl Sync for Kernel {}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: the module was loaded in this context and is used no more. Launches may still run:
        // the driver is asked to wait for them first.
        let _ = self.gpu.within(|driver| unsafe {
            call!(driver, cuStreamSynchronize(STREAM))?;
            call!(driver, cuModuleUnload(self.module))
        });
    }
}

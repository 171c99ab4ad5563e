//! The driver on emulated devices: memory, copies, kernels, and what goes wrong. Each test has a process of
//! its own.

use zerostride_cuda::{Error, Gpu, Stream, device_count, device_of};
use zerostride_emulator::{emulated, library};

/// Adds 1 to so many words, the first arguments: their number and address.
const INCREMENT: &str = ".version 7.0
.target sm_75
.address_size 64

.visible .entry increment(.param .align 8 .b8 arguments[16])
.maxntid 256, 1, 1
{
	.reg .pred %p<1>;
	.reg .b32 %r<5>;
	.reg .b64 %l<3>;
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %tid.x;
	mad.lo.u32 %r2, %r0, 256, %r1;
	ld.param.b32 %r3, [arguments+0];
	ld.param.b64 %l0, [arguments+8];
	setp.le.u32 %p0, %r3, %r2;
	@%p0 bra $L0;
	cvt.u64.u32 %l1, %r2;
	mad.lo.s64 %l2, %l1, 4, %l0;
	ld.global.b32 %r4, [%l2+0];
	add.u32 %r4, %r4, 1;
	st.global.b32 [%l2+0], %r4;
$L0:
	ret;
}
";

fn increment(gpu: &'static Gpu, count: u64, address: u64) -> Result<(), Error> {
    let kernel = gpu.kernel(INCREMENT, "increment")?;
    // SAFETY: the tests give it memory that it may change, or none, on an emulated device.
    unsafe { gpu.launch(&kernel, ((count as u32).div_ceil(256), 256), &[count, address]) }
}

#[test]
fn bytes_go_to_each_device_and_come_back_changed_by_a_kernel() {
    emulated(&[], || {
        assert_eq!(device_count(), Ok(2));
        for index in 0..2 {
            let gpu = Gpu::open(index).unwrap();
            assert_eq!((gpu.index(), gpu.name()), (index, &*format!("emulated device {index}")));
            let memory = gpu.allocate(4000).unwrap();
            assert_eq!(device_of(memory.address() + 100), Ok(index));
            let words: Vec<u8> = (0..1000u32).flat_map(u32::to_le_bytes).collect();
            let mut found = vec![0; 4000];
            // SAFETY: the memory has as many bytes, and is used here only.
            unsafe { gpu.upload(&words, memory.address()) }.unwrap();
            increment(gpu, 999, memory.address()).unwrap();
            for stream in [1, 0x5000] {
                // SAFETY: to the emulator every number is a stream.
                unsafe { gpu.precede(Stream(stream)).and(gpu.follow(Stream(stream))) }.unwrap();
            }
            gpu.synchronize().unwrap();
            // SAFETY: as above.
            unsafe { gpu.download(memory.address(), &mut found) }.unwrap();
            let wanted: Vec<u8> =
                (0..1000u32).map(|n| if n < 999 { n + 1 } else { n }).flat_map(u32::to_le_bytes).collect();
            assert_eq!(found, wanted);
        }
    });
}

#[test]
fn the_device_of_an_address_is_found_without_another_one() {
    type GetState = unsafe extern "C" fn(i32, *mut u32, *mut i32) -> i32;
    emulated(&[], || {
        let is_in_use = |device| {
            let (mut flags, mut active) = (0, 0);
            // SAFETY: the emulated driver has the function, which writes to variables.
            let status = unsafe {
                let driver = libloading::Library::new(library()).unwrap();
                let state = driver.get::<GetState>("cuDevicePrimaryCtxGetState").unwrap();
                state(device, &mut flags, &mut active)
            };
            assert_eq!(status, 0);
            active == 1
        };
        let memory = Gpu::open(1).unwrap().allocate(10).unwrap();
        assert_eq!(device_of(memory.address()), Ok(1));
        assert_eq!([0, 1].map(is_in_use), [false, true]);
        let first = Gpu::open(0).unwrap().allocate(10).unwrap();
        assert_eq!([&first, &memory].map(|memory| device_of(memory.address())), [Ok(0), Ok(1)]);
    });
}

#[test]
fn memory_that_is_dropped_is_free_again() {
    emulated(&[("ZEROSTRIDE_EMULATOR_MEMORY", "1000")], || {
        for index in 0..2 {
            let gpu = Gpu::open(index).unwrap();
            for _ in 0..3 {
                let memory = gpu.allocate(900).unwrap();
                assert_eq!((memory.len(), memory.is_empty()), (900, false));
                let error = gpu.allocate(200).unwrap_err();
                assert!(error.is_out_of_memory());
                assert_eq!(
                    error.to_string().split(", cu").next(),
                    Some("CUDA error: out of memory (CUDA_ERROR_OUT_OF_MEMORY")
                );
            }
        }
    });
}

#[test]
fn a_device_that_is_not_there_is_refused() {
    emulated(&[], || {
        let error = Gpu::open(2).unwrap_err();
        assert_eq!(error.to_string(), "there is no device cuda:2: NVIDIA's driver has 2");
        for _ in 0..2 {
            let error = device_of(0x1000).unwrap_err();
            assert_eq!(error.to_string(), "no device that this process uses has memory at 0x1000");
            Gpu::open(0).unwrap();
        }
    });
}

#[test]
fn what_is_no_kernel_is_refused_by_name() {
    emulated(&[], || {
        let gpu = Gpu::open(0).unwrap();
        let error = gpu.kernel("not a module", "map").unwrap_err();
        assert!(error.to_string().contains("CUDA_ERROR_INVALID_PTX"), "{error}");
        let error = gpu.kernel(INCREMENT, "map").unwrap_err();
        assert!(error.to_string().contains("CUDA_ERROR_NOT_FOUND"), "{error}");
    });
}

#[test]
fn a_kernel_that_leaves_its_memory_loses_the_device_and_no_other_one() {
    emulated(&[], || {
        let [lost, other] = [0, 1].map(|index| Gpu::open(index).unwrap());
        let memory = lost.allocate(4).unwrap();
        increment(lost, 2, memory.address()).unwrap();
        for _ in 0..2 {
            let error = lost.synchronize().unwrap_err();
            assert_eq!(
                error.to_string(),
                "CUDA error: an illegal memory access was encountered \
                 (CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize)"
            );
        }
        assert!(lost.allocate(4).is_err());
        let memory = other.allocate(4).unwrap();
        increment(other, 1, memory.address()).unwrap();
        assert_eq!(other.synchronize(), Ok(()));
    });
}

#[test]
fn without_a_driver_there_is_a_reason() {
    emulated(&[("ZEROSTRIDE_CUDA", "no-such-driver")], || {
        let error = device_count().and(Gpu::open(0)).unwrap_err();
        assert!(
            error.to_string().starts_with("NVIDIA's driver cannot be used (no-such-driver): "),
            "{error}"
        );
    });
}

//! Arrays in files of every format are evaluated in pieces with the bits of the evaluation in memory, and
//! whatever fails on the way, the result is complete or absent.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use zerostride::io::{Destination, Format, Sink, Source, load, save_all};
use zerostride::stream::Options;
use zerostride::{Expr, Result, Tensor};

use crate::injected::{Calls, FailingReads};

fn standardised(x: &Expr) -> Expr {
    (x - x.mean(0)) / x.std(0)
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// A deflated `.npz` of one array.
fn deflated(array: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("x.npy", options).unwrap();
    archive.write_all(array).unwrap();
    archive.finish().unwrap().into_inner()
}

/// A Zarr store of an array in chunks of a size, not packed.
fn in_chunks(store: &Path, x: &Tensor, chunk: [usize; 2]) {
    std::fs::create_dir(store).unwrap();
    let metadata = serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": x.shape(), "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    std::fs::write(store.join("zarr.json"), metadata.to_string()).unwrap();
    let values = x.to_vec::<f32>().unwrap();
    for row in 0..x.shape()[0].div_ceil(chunk[0]) {
        for column in 0..x.shape()[1].div_ceil(chunk[1]) {
            let at = |i: usize, j: usize| (row * chunk[0] + i, column * chunk[1] + j);
            let places = (0..chunk[0]).flat_map(|i| (0..chunk[1]).map(move |j| (i, j)));
            let elements = places.flat_map(|(i, j)| {
                let (i, j) = at(i, j);
                let inside = i < x.shape()[0] && j < x.shape()[1];
                (if inside { values[i * x.shape()[1] + j] } else { f32::NAN }).to_le_bytes()
            });
            std::fs::write(store.join(format!("c.{row}.{column}")), elements.collect::<Vec<u8>>()).unwrap();
        }
    }
}

/// The same array in every format and order.
fn files(folder: &Path) -> (Expr, Vec<std::path::PathBuf>) {
    let x = Tensor::rand(&[5000, 5], 1).unwrap();
    let names = ["x.npy", "x.npz", "x.safetensors"].map(|name| folder.join(name));
    for name in &names {
        let both: &[(&str, &Tensor)] =
            if name.ends_with("x.npy") { &[("x", &x)] } else { &[("y", &x.t().unwrap()), ("x", &x)] };
        save_all(name, both).unwrap();
    }
    let [deflated_path, swapped, fortran] =
        ["d.npz", "swapped.npy", "fortran.npy"].map(|name| folder.join(name));
    std::fs::write(&deflated_path, deflated(&bytes(&names[0]))).unwrap();
    let mut npy = bytes(&names[0]);
    let start = npy.len() - 4 * x.numel();
    let header = String::from_utf8_lossy(&npy[10..start]).into_owned();
    npy[10..start].copy_from_slice(header.replace("'<f4'", "'>f4'").as_bytes());
    npy[start..].chunks_exact_mut(4).for_each(<[u8]>::reverse);
    std::fs::write(&swapped, &npy).unwrap();
    save_all(&fortran, &[("x", &x.t().unwrap())]).unwrap();
    let mut npy = bytes(&fortran);
    let header = String::from_utf8_lossy(&npy[10..start]).into_owned();
    let reversed = header.replace("False", "True ").replace("(5, 5000)", "(5000, 5)");
    npy[10..start].copy_from_slice(reversed.as_bytes());
    std::fs::write(&fortran, &npy).unwrap();
    let [npy, npz, safetensors] = names;
    let named = |path: &Path| format!("{}:x", path.display()).into();
    let mut paths = vec![npy, named(&npz), named(&safetensors), deflated_path, swapped, fortran];
    if cfg!(feature = "zarr") {
        // One by us, of one chunk, and one of ragged chunks in both dimensions.
        paths.push(folder.join("x.zarr"));
        zerostride::io::save(&paths[6], &x).unwrap();
        paths.push(folder.join("chunks.zarr"));
        in_chunks(&paths[7], &x, [700, 2]);
    }
    (Expr::from(&x), paths)
}

const ENDINGS: &[&str] = if cfg!(feature = "zarr") {
    &["npy", "npz", "safetensors", "zarr"]
} else {
    &["npy", "npz", "safetensors"]
};

#[test]
fn every_format_gives_the_bits_of_the_whole_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (x, sources) = files(folder.path());
    let whole: Vec<(Expr, Vec<u32>)> =
        [standardised as fn(&Expr) -> Expr, |x| x.exp().sum(1), |x| x.softmax(0)]
            .map(|case| {
                let expected = case(&x).eval().unwrap().to_vec::<f32>().unwrap();
                (case(&x), expected.iter().map(|value| value.to_bits()).collect())
            })
            .into();
    let pools =
        [1, 2, 16].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    for source in &sources {
        let source = Source::open(source).unwrap();
        for (case, (_, expected)) in
            [standardised as fn(&Expr) -> Expr, |x| x.exp().sum(1), |x| x.softmax(0)].iter().zip(&whole)
        {
            for ending in ENDINGS {
                let out = folder.path().join(format!("out.{ending}"));
                for (rows, pool) in [(1000, 0), (1000, 1), (1 << 20, 2), (2000, 2)] {
                    let mut sink = Sink::create(&out).unwrap();
                    let run = || {
                        case(&Expr::from(&source))
                            .eval_to(&mut sink, Options::new().piece_rows(rows))
                            .unwrap();
                    };
                    pools[pool].install(run);
                    let found = load(&out).unwrap().to_vec::<f32>().unwrap();
                    assert!(
                        found.iter().map(|value| value.to_bits()).eq(expected.iter().copied()),
                        "{source:?} to {ending}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_sink_writes_the_bytes_that_save_writes() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["npy", "npz", "safetensors"] {
        for shape in [&[3000, 7][..], &[5], &[], &[0, 3], &[1, 1, 4, 2]] {
            let x = Tensor::rand(shape, 3).unwrap();
            let [saved, written] =
                ["saved", "written"].map(|name| folder.path().join(name).with_extension(ending));
            zerostride::io::save(&saved, &x).unwrap();
            Expr::from(&x)
                .eval_to(&mut Sink::create(&written).unwrap(), Options::new().piece_rows(2))
                .unwrap();
            assert!(bytes(&saved) == bytes(&written), "{shape:?} {ending}");
        }
    }
}

/// Windows refuses to rename over a file that is open.
#[cfg(unix)]
#[test]
fn the_output_may_be_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let x = Tensor::rand(&[3000, 5], 1).unwrap();
    save_all(&path, &[("x", &x)]).unwrap();
    let source = Expr::from(&Source::open(&path).unwrap());
    (&source + &source).eval_to(&mut Sink::create(&path).unwrap(), Options::new().piece_rows(100)).unwrap();
    assert_eq!(
        load(&path).unwrap().to_vec::<f32>().unwrap(),
        (&x + &x).eval().unwrap().to_vec::<f32>().unwrap()
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_existing_file_may_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    save_all(&path, &[("x", &Tensor::rand(&[3], 1).unwrap())]).unwrap();
    let error = Sink::create_new(&path).unwrap_err().to_string();
    assert!(error.ends_with("it exists already; choose another name, or allow it to be replaced"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_source_that_is_cut_short_or_damaged_ends_in_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_, sources) = files(folder.path());
    let out = folder.path().join("out.npy");
    let path = &sources[0];
    let source = Expr::from(&Source::open(path).unwrap());
    std::fs::File::options().write(true).open(path).unwrap().set_len(60_000).unwrap();
    let error =
        (source + 1).eval_to(&mut Sink::create(&out).unwrap(), Options::new().piece_rows(500)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("x.npy: it was cut short while being read; another program may be writing it")
    );

    for name in ["x.npz:x", "d.npz"] {
        let whole = folder.path().join(name.split(':').next().unwrap());
        let mut damaged = bytes(&whole);
        let middle = damaged.len() - 20_000;
        damaged[middle] ^= 1;
        std::fs::write(&whole, &damaged).unwrap();
        let source = Expr::from(&Source::open(folder.path().join(name)).unwrap());
        let error = (source + 1)
            .eval_to(&mut Sink::create(&out).unwrap(), Options::new().piece_rows(500))
            .unwrap_err();
        assert!(error.to_string().contains("damaged or unsupported archive"), "{error}");
    }
    assert!(!out.exists());
}

/// A file that gets its name at the end, every call of which may fail.
struct FailingWrites {
    file: tempfile::NamedTempFile,
    name: std::path::PathBuf,
    calls: Arc<Calls>,
}

impl Write for FailingWrites {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls.count()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for FailingWrites {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.calls.count()?;
        self.file.seek(to)
    }
}

impl Destination for FailingWrites {
    fn reserve(&mut self, _: u64) -> io::Result<()> {
        self.calls.count()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.calls.count()
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        self.calls.count()?;
        self.file.persist(&self.name).map(drop).map_err(|error| error.error)
    }
}

#[test]
fn whichever_call_fails_the_result_is_complete_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let [npy, stored] = ["x.npy", "x.npz"].map(|name| {
        let path = folder.path().join(name);
        save_all(&path, &[("x", &Tensor::rand(&[4, 3], 1).unwrap())]).unwrap();
        let file = bytes(&path);
        std::fs::remove_file(&path).unwrap();
        file
    });
    let inputs = [
        (npy.clone(), Format::Npy, None),
        (deflated(&npy), Format::Npz, Some("x")),
        (stored, Format::Npz, Some("x")),
    ];
    for (input, format, array) in inputs {
        for output in [Format::Npy, Format::Npz, Format::Safetensors] {
            let out = folder.path().join("out");
            let run = |left: usize| -> (Result<()>, bool) {
                let calls = Arc::new(Calls::default());
                calls.let_through(left);
                let run = || {
                    let source =
                        Source::new(Arc::new(FailingReads(input.clone(), calls.clone())), format, array)?;
                    let x = Expr::from(&source);
                    let file = tempfile::NamedTempFile::new_in(folder.path()).unwrap();
                    let to = FailingWrites { file, name: out.clone(), calls: calls.clone() };
                    (&x + x.amax(0))
                        .eval_to(&mut Sink::new(Box::new(to), output), Options::new().piece_rows(1))
                };
                (run(), calls.have_failed())
            };
            let (done, _) = run(usize::MAX);
            done.unwrap();
            let complete = bytes(&out);
            std::fs::remove_file(&out).unwrap();
            for left in 0.. {
                let (result, failed) = run(left);
                if !failed {
                    result.unwrap();
                    assert!(left > 10 && bytes(&out) == complete);
                    std::fs::remove_file(&out).unwrap();
                    break;
                }
                assert!(result.unwrap_err().to_string().contains("injected"));
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "call {left}");
            }
        }
    }
}

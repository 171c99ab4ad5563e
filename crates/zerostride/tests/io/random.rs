//! No bytes make a reader panic, and safetensors agrees with the reference implementation.

use proptest::prelude::*;
use safetensors::SafeTensors;
use zerostride::io::Format;

use crate::{elements, golden_file, read};

const GOLDEN: [(Format, &str); 8] = [
    (Format::Npy, "v1.npy"),
    (Format::Npy, "v2.npy"),
    (Format::Npy, "fortran.npy"),
    (Format::Npy, "rank64.npy"),
    (Format::Npz, "stored.npz"),
    (Format::Npz, "unsupported.npz"),
    (Format::Safetensors, "all.safetensors"),
    (Format::Safetensors, "plain.safetensors"),
];

#[test]
fn every_truncation_of_a_good_file_is_refused() {
    for (format, name) in GOLDEN {
        let file = golden_file(name);
        for length in 0..file.len() {
            assert!(read(format, &file[..length]).is_err(), "{length} bytes of {name}");
        }
    }
}

#[test]
fn no_flipped_bit_of_a_good_file_panics() {
    for (format, name) in GOLDEN {
        let mut file = golden_file(name);
        for bit in 0..file.len() * 8 {
            file[bit / 8] ^= 1 << (bit % 8);
            let _ = read(format, &file);
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Fragments that lead a reader further in than random bytes do.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        prop::sample::select(vec![
            "\u{93}NUMPY",
            "{",
            "}",
            "'descr'",
            ":",
            "'<f4'",
            "'>c16'",
            "'|O'",
            ",",
            "'fortran_order'",
            "True",
            "False",
            "'shape'",
            "(",
            ")",
            "[",
            "]",
            "1",
            "0",
            "18446744073709551615",
            "L",
            " ",
            "\n",
            "PK\u{3}\u{4}",
            "PK\u{1}\u{2}",
            "PK\u{5}\u{6}",
            "\"x\"",
            "\"dtype\"",
            "\"F32\"",
            "\"shape\"",
            "\"data_offsets\"",
            "\"__metadata__\"",
            "-",
            "null",
        ])
        .prop_map(|text| text.chars().map(|character| character as u8).collect::<Vec<u8>>()),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

fn any_format() -> impl Strategy<Value = Format> {
    prop::sample::select(vec![Format::Npy, Format::Npz, Format::Safetensors])
}

/// A safetensors file that is nearly right.
fn nearly_safetensors() -> impl Strategy<Value = Vec<u8>> {
    let dtype = prop::sample::select(vec!["U8", "I16", "F32", "F64", "F8_E4M3", "BOOL"]);
    let tensor = (dtype, prop::collection::vec(0usize..4, 0..3), 0u64..9, 0u64..9, 0usize..4);
    (prop::collection::vec(tensor, 0..4), 0usize..4, 0usize..30, any::<bool>()).prop_map(
        |(tensors, pad, data, exact)| {
            let mut offset = 0;
            let tensors: Vec<_> = tensors
                .into_iter()
                .map(|(dtype, shape, begin, end, name)| {
                    let size = match dtype {
                        "I16" => 2,
                        "F32" => 4,
                        "F64" => 8,
                        _ => 1,
                    };
                    let fits = offset + size * shape.iter().product::<usize>() as u64;
                    let (begin, end) = if exact { (offset, fits) } else { (begin, end) };
                    offset = end;
                    format!(
                        r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#
                    )
                })
                .collect();
            let header = format!("{{{}}}{}", tensors.join(","), " ".repeat(pad));
            crate::safetensors(&header, &vec![1; if exact { offset as usize } else { data }])
        },
    )
}

proptest! {
    #[test]
    fn no_bytes_panic(format in any_format(), file in fragments()) {
        let _ = read(format, &file);
    }

    #[test]
    fn no_npy_header_panics(header in fragments(), data in prop::collection::vec(any::<u8>(), 0..20)) {
        let length = (header.len() as u16).to_le_bytes();
        let _ = read(Format::Npy, &[b"\x93NUMPY\x01\x00", &length[..], &header, &data].concat());
    }

    #[test]
    fn no_safetensors_header_panics(header in fragments(), data in prop::collection::vec(any::<u8>(), 0..20)) {
        let length = (header.len() as u64).to_le_bytes();
        let _ = read(Format::Safetensors, &[&length[..], &header, &data].concat());
    }

    /// What we read, the reference implementation reads alike. What only that one reads has a name twice, or
    /// a dtype that we lack.
    #[test]
    fn safetensors_reads_as_the_reference_implementation(file in nearly_safetensors()) {
        match (read(Format::Safetensors, &file), SafeTensors::deserialize(&file)) {
            (Ok(ours), Ok(theirs)) => {
                prop_assert_eq!(ours.len(), theirs.len());
                for (name, tensor) in ours {
                    let expected = theirs.tensor(&name.unwrap()).unwrap();
                    prop_assert_eq!(tensor.shape(), expected.shape());
                    prop_assert_eq!(elements(&tensor), expected.data());
                }
            }
            (Ok(_), Err(error)) => prop_assert!(false, "only ours reads it: {}", error),
            (Err(error), Ok(_)) => {
                let error = error.to_string();
                prop_assert!(error.contains("given twice") || error.contains("F8_E4M3"), "{}", error);
            }
            (Err(_), Err(_)) => {}
        }
    }
}

//! Tensors print as PyTorch prints them: `spec/golden/printing.json`, character by character.

use serde_json::Value;
use zerostride::{Complex32, Complex64, DType, Expr, Slice, Tensor, bf16, f16};

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/golden/printing.json");
    let text = std::fs::read_to_string(path).expect("the golden file is in the repository");
    let document: Value = serde_json::from_str(&text).expect("the golden file is JSON");
    document["cases"].as_array().expect("a list of cases").clone()
}

/// The words of a case: an element each, two for a complex number.
fn words(case: &Value) -> Vec<u64> {
    let words = case["bits"].as_array().expect("bits as hexadecimal words");
    words.iter().map(|word| u64::from_str_radix(word.as_str().unwrap(), 16).unwrap()).collect()
}

fn tensor(case: &Value) -> Tensor {
    let shape: Vec<usize> =
        case["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect();
    let dtype: DType = case["dtype"].as_str().unwrap().parse().unwrap();
    if let Some(step) = case["ramp"].as_f64() {
        let numel: usize = shape.iter().product();
        return match dtype {
            DType::I64 => Tensor::from_vec((0..numel as i64).map(|i| i * step as i64).collect(), &shape),
            _ => Tensor::from_vec((0..numel).map(|i| i as f32 * step as f32).collect(), &shape),
        }
        .unwrap();
    }
    let words = words(case);
    macro_rules! from_words {
        (|$word:ident| $value:expr) => {
            Tensor::from_vec(words.iter().map(|&$word| $value).collect::<Vec<_>>(), &shape)
        };
    }
    match dtype {
        DType::Bool => from_words!(|word| word != 0),
        DType::U8 => from_words!(|word| word as u8),
        DType::U16 => from_words!(|word| word as u16),
        DType::U32 => from_words!(|word| word as u32),
        DType::U64 => from_words!(|word| word),
        DType::I8 => from_words!(|word| word as i8),
        DType::I16 => from_words!(|word| word as i16),
        DType::I32 => from_words!(|word| word as i32),
        DType::I64 => from_words!(|word| word as i64),
        DType::F16 => from_words!(|word| f16::from_bits(word as u16)),
        DType::BF16 => from_words!(|word| bf16::from_bits(word as u16)),
        DType::F32 => from_words!(|word| f32::from_bits(word as u32)),
        DType::F64 => from_words!(|word| f64::from_bits(word)),
        DType::C64 => {
            let part = |word: u64| f32::from_bits(word as u32);
            Tensor::from_vec(
                words.chunks(2).map(|pair| Complex32::new(part(pair[0]), part(pair[1]))).collect(),
                &shape,
            )
        }
        DType::C128 => {
            let part = f64::from_bits;
            Tensor::from_vec(
                words.chunks(2).map(|pair| Complex64::new(part(pair[0]), part(pair[1]))).collect(),
                &shape,
            )
        }
    }
    .unwrap()
}

#[test]
fn every_golden_tensor_prints_as_in_pytorch() {
    let cases = cases();
    assert!(cases.len() > 300, "the golden file is complete");
    for case in &cases {
        assert_eq!(
            tensor(case).to_string(),
            case["text"].as_str().unwrap(),
            "{} {}",
            case["dtype"],
            case["what"]
        );
    }
}

#[test]
fn views_print_the_elements_they_show() {
    let x = Tensor::arange(0, 6, 1).unwrap().reshape(&[2, 3]).unwrap();
    let turned = x.t().unwrap();
    assert_eq!(turned.to_string(), "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
    let row = x.select(0, 1).unwrap().slice(0, Slice::from(..).step_by(-2)).unwrap();
    assert_eq!(row.to_string(), "tensor([5, 3])");
}

#[test]
fn a_summary_of_a_stretched_tensor_reads_only_what_it_shows() {
    let huge = Tensor::ones(&[1]).unwrap().expand(&[1 << 40]).unwrap();
    assert_eq!(huge.to_string(), "tensor([1., 1., 1.,  ..., 1., 1., 1.])");
}

#[test]
fn an_expression_prints_its_shape_and_elements_or_its_error() {
    let x = zerostride::tensor![[1.0, 2.0], [3.0, 4.0]];
    assert_eq!(
        (&x + 1).to_string(),
        "expression of shape [2, 2], f32:\ntensor([[2., 3.],\n        [4., 5.]])"
    );
    assert_eq!(format!("{:?}", &x + 1.0), "Expr(a + 1.0)");
    let wrong = &x + zerostride::tensor![1.0, 2.0, 3.0];
    assert_eq!(
        wrong.to_string(),
        "expression without a value: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"
    );
    let whole = zerostride::tensor![1, 2];
    let divided = whole.floor_divide(0).map(drop).unwrap_err().to_string();
    let expr = Expr::from(&whole).floor_divide(0);
    assert_eq!(expr.to_string(), format!("expression of shape [2], i64: {divided}"));
    let sum = &whole + 1;
    whole.add_(1).unwrap();
    assert!(sum.to_string().contains("was modified in place"), "{sum}");
}

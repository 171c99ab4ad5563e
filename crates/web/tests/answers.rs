//! What the page is told, without a browser: the answer to every kind of question.

use serde_json::Value;
use zerostride_web::answer;

fn ask(fragment: &str) -> Value {
    serde_json::from_str(&answer(fragment)).expect("an answer is JSON")
}

#[test]
fn an_answer_holds_its_own_question() {
    for fragment in ["", "lang=it", "op=sub&inplace=1&o=x=(3,+1)&o==3", "o=x=[[1, 2], [3"] {
        let first = ask(fragment);
        let again = ask(first["fragment"].as_str().unwrap());
        assert_eq!(first, again, "{fragment}");
    }
}

#[test]
fn every_example_is_explained_in_every_language() {
    for lang in ["en", "it"] {
        for example in ask(&format!("lang={lang}"))["examples"].as_array().unwrap() {
            let answer = ask(example["fragment"].as_str().unwrap());
            assert_eq!(answer["lang"], lang);
            let report = answer["explained"]["report"].as_str().expect("it is explained");
            assert!(report.contains("<svg ") && !report.contains("<style"), "{example}");
            assert!(answer["explained"]["style"].as_str().unwrap().contains(".zs-report"));
        }
    }
}

#[test]
fn repairs_lead_to_shapes_that_broadcast_and_keep_values() {
    let texts = |answer: &Value| {
        let operands = answer["operands"].as_array().unwrap();
        operands.iter().map(|operand| operand["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (fragment, first) in [
        ("op=mul&o=x=32,10&o=y=32", ["32,10", "32, 1"]),
        ("op=sub&o=x=[[1,2,3],[4,5,6]]&o=y=[7,8]:i64", ["[[1,2,3],[4,5,6]]", "[[7], [8]]:i64"]),
        ("op=sub&o=output=32,1&o=target=32", ["32", "32"]),
        ("op=add&inplace=1&o=x=3&o=y=2,3", ["2,3", "3"]),
    ] {
        let answer = ask(fragment);
        let repairs = answer["explained"]["repairs"].as_array().unwrap();
        assert_eq!(
            repairs.len(),
            answer["explained"]["report"].as_str().unwrap().matches("<li data-operand").count(),
            "each offer of the report has its repair"
        );
        for repair in repairs {
            let repaired = ask(repair["fragment"].as_str().unwrap());
            let report = repaired["explained"]["report"].as_str().unwrap();
            assert!(!report.contains("zs-error"), "{fragment}: {repair}");
        }
        assert!(
            repairs.iter().any(|repair| texts(&ask(repair["fragment"].as_str().unwrap())) == first),
            "{repairs:?}"
        );
    }
}

#[test]
fn hostile_names_and_texts_stay_text() {
    let fragment = "o=%3Cscript%3Ealert(1)%3C/script%3E=3&o=b=%3Cimg%20src=x%3E";
    let answer = ask(fragment);
    assert_eq!(answer["explained"], Value::Null);
    assert!(answer["operands"][0]["problem"].is_string() && answer["operands"][1]["problem"].is_string());
    for fragment in ["o=x=9223372036854775807,9223372036854775807", &format!("o=x={}", "1,".repeat(1000))] {
        assert!(ask(fragment)["explained"]["report"].as_str().unwrap().contains("zs-error"));
    }
}

#[test]
fn programs_say_the_same_in_every_library() {
    let programs = |fragment: &str| {
        let answer = ask(fragment);
        let programs = answer["explained"]["programs"].as_array().unwrap().iter();
        programs.map(|program| program["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        programs("op=maximum&o=x=[[1,2.5]]&o=n=5:i16"),
        [
            "import torch\n\nx = torch.tensor([[1, 2.5]])\nn = torch.tensor(5, dtype=torch.int16)\nresult = torch.maximum(x, n)\n",
            "import numpy as np\n\nx = np.array([[1, 2.5]], dtype=\"float32\")\nn = np.array(5, dtype=\"int16\")\nresult = np.maximum(x, n)\n",
            "use zerostride::{DType, Tensor, tensor};\n\nlet x = tensor![[1.0, 2.5]];\nlet n = Tensor::scalar(5)?.to_dtype(DType::I16)?;\nlet result = x.maximum(&n)?;\n",
        ]
    );
    assert_eq!(
        programs("op=add&inplace=1&o=x=2,3&o=y=3"),
        [
            "import torch\n\nx = torch.rand(2, 3)\ny = torch.rand(3)\nx.add_(y)\n",
            "import numpy as np\n\nx = np.random.rand(2, 3)\ny = np.random.rand(3)\nx += y\n",
            "use zerostride::Tensor;\n\nlet x = Tensor::rand(&[2, 3], 1)?;\nlet y = Tensor::rand(&[3], 2)?;\nx.add_(&y)?;\n",
        ]
    );
    assert!(programs("o=a=2&o=b=3,1&o=c=1")[2].contains("broadcast_tensors(&[&a, &b, &c])?"));
}

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
            "import jax.numpy as jnp\n\nx = jnp.array([[1, 2.5]], dtype=\"float32\")\nn = jnp.array(5, dtype=\"int16\")\nresult = jnp.maximum(x, n)\n",
            "import zerostride as zs\n\nx = zs.tensor([[1, 2.5]])\nn = zs.tensor(5, dtype=zs.int16)\nresult = zs.maximum(x, n)\n",
            "use zerostride::{DType, Tensor, tensor};\n\nlet x = tensor![[1.0, 2.5]];\nlet n = Tensor::scalar(5)?.to_dtype(DType::I16)?;\nlet result = x.maximum(&n)?;\n",
        ]
    );
    assert_eq!(
        programs("op=add&inplace=1&o=x=2,3&o=y=3"),
        [
            "import torch\n\nx = torch.rand(2, 3)\ny = torch.rand(3)\nx.add_(y)\n",
            "import numpy as np\n\nx = np.random.rand(2, 3)\ny = np.random.rand(3)\nx += y\n",
            "import jax\nimport jax.numpy as jnp\n\nx = jax.random.uniform(jax.random.key(0), (2, 3))\ny = jax.random.uniform(jax.random.key(0), (3,))\nx = x.at[...].set(x + y)\n",
            "import zerostride as zs\n\nx = zs.rand(2, 3)\ny = zs.rand(3)\nx.add_(y)\n",
            "use zerostride::Tensor;\n\nlet x = Tensor::rand(&[2, 3], 1)?;\nlet y = Tensor::rand(&[3], 2)?;\nx.add_(&y)?;\n",
        ]
    );
    let last = |fragment: &str| {
        programs(fragment)
            .iter()
            .map(|text| text.lines().next_back().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    for (fragment, lines) in [
        (
            "op=where&o=m=[[True]]&o=x=2,1&o=y=3",
            [
                "result = torch.where(m, x, y)",
                "result = np.where(m, x, y)",
                "result = jnp.where(m, x, y)",
                "result = zs.where(m, x, y)",
                "let result = x.where_(&m, &y)?;",
            ],
        ),
        (
            "op=amax&dim=0,2&keepdim=1&o=x=2,3,4",
            [
                "result = x.amax((0, 2), keepdim=True)",
                "result = x.max((0, 2), keepdims=True)",
                "result = x.max((0, 2), keepdims=True)",
                "result = x.amax((0, 2), keepdim=True)",
                "let result = x.amax(keepdim([0,2]))?;",
            ],
        ),
        (
            "op=matmul&o=x=2,3&o=y=3",
            [
                "result = x @ y",
                "result = x @ y",
                "result = x @ y",
                "result = x @ y",
                "let result = x.matmul(&y)?;",
            ],
        ),
        (
            "op=einsum&eq=ij->j&o=x=2,3",
            [
                "result = torch.einsum(\"ij->j\", x)",
                "result = np.einsum(\"ij->j\", x)",
                "result = jnp.einsum(\"ij->j\", x)",
                "result = zs.einsum(\"ij->j\", x)",
                "let result = einsum(\"ij->j\", [&x]).eval()?;",
            ],
        ),
    ] {
        assert_eq!(last(fragment), lines);
    }
    assert!(programs("o=a=2&o=b=3,1&o=c=1")[4].contains("broadcast_tensors(&[&a, &b, &c])?"));
}

#[test]
fn reductions_and_products_have_the_shapes_and_messages_of_the_engine() {
    let line = |fragment: &str| ask(fragment)["status"].as_str().unwrap().to_owned();
    for (fragment, shape) in [
        ("op=sum&o=x=2,3", "()"),
        ("op=mean&dim=-1&o=x=2,3", "(2,)"),
        ("op=amax&dim=0,2&keepdim=1&o=x=2,3,4", "(1, 3, 1)"),
        ("op=sum&dim=0&o=x=()", "()"),
        ("op=matmul&o=x=2,3&o=y=3,4", "(2, 4)"),
        ("op=matmul&o=x=3&o=y=3", "()"),
        ("op=matmul&o=x=3&o=y=5,3,4", "(5, 4)"),
        ("op=matmul&o=x=7,1,2,3&o=y=5,3,4", "(7, 5, 2, 4)"),
        ("op=matmul&o=x=5,2,3&o=y=3", "(5, 2)"),
        ("op=einsum&eq=ij,jk->ki&o=x=2,3&o=y=3,4", "(4, 2)"),
        ("op=einsum&eq=ij&o=x=2,3", "(2, 3)"),
        ("op=einsum&eq=ba&o=x=2,3", "(3, 2)"),
        ("op=einsum&eq=...i,i...&o=x=7,2,3&o=y=3", "(7, 2)"),
        ("op=einsum&eq=i,j,k->kji&o=x=2&o=y=3&o=z=4", "(4, 3, 2)"),
        ("op=einsum&eq=ii&o=x=3,3", "()"),
        ("op=einsum&eq=bii->bi&o=x=5,3,3", "(5, 3)"),
        ("op=einsum&eq=ii,ij->ij&o=x=3,3&o=y=3,4", "(3, 4)"),
    ] {
        assert!(
            line(fragment).ends_with(&format!("the result has shape {shape}")),
            "{fragment}: {}",
            line(fragment)
        );
    }
    let rand = |shape: &[usize]| zerostride::Tensor::rand(shape, 1).unwrap();
    for (a, b) in [
        (&[2, 3][..], &[4, 5][..]),
        (&[3], &[4]),
        (&[2, 3], &[4]),
        (&[3], &[4, 5]),
        (&[2], &[5, 3, 4]),
        (&[5, 2, 3], &[4, 2]),
        (&[5, 2, 3], &[5, 4, 2]),
        (&[], &[2]),
    ] {
        let text = |shape: &[usize]| shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let text = |shape: &[usize]| if shape.is_empty() { "()".to_owned() } else { text(shape) };
        let told = line(&format!("op=matmul&o=x={}&o=y={}", text(a), text(b)));
        assert_eq!(told, rand(a).matmul(rand(b)).unwrap_err().to_string());
    }
    for (equation, a, b) in
        [("ij,jk->ik", [2, 3], [4, 5]), ("ij,jk->iz", [2, 3], [3, 5]), ("ijk,jk", [2, 3], [3, 5])]
    {
        let told = line(&format!("op=einsum&eq={equation}&o=x={},{}&o=y={},{}", a[0], a[1], b[0], b[1]));
        let refused = zerostride::einsum(equation, [&rand(&a), &rand(&b)]).eval().unwrap_err();
        assert_eq!(told, refused.to_string().lines().next().unwrap_or_default());
    }
    assert_eq!(
        line("op=sum&dim=2&o=x=2,3"),
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
    );
    assert!(line("op=mean&o=x=[[1, 2]]").contains("mean(): could not infer output dtype"));
    assert!(line("op=where&o=x=2&o=y=3").contains("where takes 3 operands"));
    for (equation, shape) in [("ii", "2,3"), ("ij->ii", "2,3")] {
        let sizes: Vec<usize> = shape.split(',').map(|size| size.parse().unwrap()).collect();
        let refused = zerostride::einsum(equation, [&rand(&sizes)]).eval().unwrap_err();
        let told = line(&format!("op=einsum&eq={equation}&o=x={shape}"));
        assert_eq!(told, refused.to_string().lines().next().unwrap_or_default());
    }
}

#[test]
fn the_elements_of_a_result_are_drawn() {
    for (fragment, element) in [
        ("", "[7, 8, 9]]"),
        ("op=einsum&eq=ii&o=x=[[1, 2], [3, 4]]", ">5"),
        ("op=mul&o=x=[[1%2B2j, 3j]]&o=y=[[2], [1j]]", "[-2.+1.j, -3.+0.j]]"),
        ("op=where&o=m=[[True], [False]]&o=x=[[1, 2]]&o=y=0:i64", "[0, 0]]"),
        ("op=mean&dim=1&o=x=[[1.0, 2, 6], [4, 5, 6]]", "[3., 5.]"),
        ("op=matmul&o=x=[[1, 2, 3], [4, 5, 6]]&o=y=[[1, 0], [0, 1], [1, 1]]", "[10, 11]]"),
    ] {
        let answer = ask(fragment);
        let report = answer["explained"]["report"].as_str().unwrap();
        assert!(report.contains(&format!("{element}</pre>")), "{fragment}");
    }
}

#[test]
fn sizes_may_be_letters() {
    let answer = ask("op=sub&o=x=n,1,d&o=y=m,d");
    assert_eq!(answer["status"], "x - y: (n, 1, d) and (m, d) broadcast to (n, m, d)");
    let report = answer["explained"]["report"].as_str().unwrap();
    assert!(report.contains("(n, m, d): n·d·m elements.") && !report.contains("own bytes"));
    assert!(report.contains("A letter is a size other than 1"));
    let programs: Vec<&str> = answer["explained"]["programs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        programs[0],
        "import torch\n\nn, d, m = 5, 7, 3\nx = torch.rand(n, 1, d)\ny = torch.rand(m, d)\nresult = x - y\n"
    );
    assert!(
        programs[4].contains("let (n, d, m) = (5, 7, 3);\nlet x = Tensor::rand(&[n, 1, d], 1)?;"),
        "{}",
        programs[4]
    );
    let refused = ask("op=mul&o=x=2, n&o=y=m");
    let error = "The size of tensor a (n) must match the size of tensor b (m) at non-singleton dimension 1";
    assert_eq!(refused["status"], error);
    // Letters in repairs are letters in the address that they lead to.
    let repair = &ask("op=mul&o=x=n, 10&o=y=n")["explained"]["repairs"][0];
    assert_eq!(repair["label"], "y.unsqueeze(-1)");
    let repaired = ask(repair["fragment"].as_str().unwrap());
    assert_eq!(
        (&repaired["operands"][1]["text"], &repaired["status"]),
        (&Value::from("n, 1"), &Value::from("x * y: (n, 10) and (n, 1) broadcast to (n, 10)"))
    );
    assert!(ask("op=matmul&o=x=n,k&o=y=k,m")["status"].as_str().unwrap().ends_with("shape (n, m)"));
}

#[test]
fn every_question_has_an_answer() {
    const TEXTS: [&str; 16] = [
        "2,3",
        "3",
        "()",
        "0,4",
        "n,1",
        "m*n,2",
        "[[1, 2, 3], [4, 5, 6]]",
        "[[True, False]]",
        "5:u8",
        "[[0.5], [-1e30]]",
        "[[300, -1]]:u8",
        "[[1, 2]]:c64",
        "[[1, 2]]:bf16",
        "[[], []]",
        "9223372036854775807,9",
        "4294967296,4294967296",
    ];
    const EQUATIONS: [&str; 10] =
        ["ij,jk->ik", "ij", "...i,i...", "ii", "->", ",", "a,b,c->cba", "ij,ij->zz", "i...j...->", "è,j"];
    let ops: Vec<String> = ask("")["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|op| op["value"].as_str().unwrap().to_owned())
        .collect();
    let mut state = 1u64;
    let mut draw = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % most
    };
    for _ in 0..600 {
        let operands: String = (0..draw(4)).map(|_| format!("&o=={}", TEXTS[draw(TEXTS.len())])).collect();
        let fragment = format!(
            "lang={}&op={}&dim={}&keepdim={}&inplace={}&eq={}{operands}",
            ["en", "it"][draw(2)],
            ops[draw(ops.len())],
            ["", "0", "-1", "0,1", "9", "x", "1,1"][draw(7)],
            draw(2),
            draw(2),
            EQUATIONS[draw(EQUATIONS.len())],
        );
        let answer = ask(&fragment);
        assert!(answer["status"].as_str().is_some_and(|status| !status.is_empty()), "{fragment}");
        assert_eq!(ask(answer["fragment"].as_str().unwrap()), answer, "{fragment}");
    }
}

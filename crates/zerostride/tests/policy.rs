//! What a policy and an audit see, where, and how often.

use std::sync::Mutex;

use zerostride::policy::{self, Action, Audit, Caller, Class, Policy};
use zerostride::{Argument, Arguments, Error, Expr, Op, Result, Tensor, call, keepdim, tensor};

fn column() -> Tensor {
    tensor![[1.0], [2.0], [3.0]]
}

fn row() -> Tensor {
    tensor![[10.0, 20.0]]
}

fn refuse(class: Class) -> Policy {
    Policy::new().with(class, Action::Error)
}

/// Operations, shapes and classes that an audit records.
fn recorded(work: impl FnOnce() -> Result<Tensor>) -> Vec<String> {
    let audit = Audit::start();
    work().unwrap();
    let log = audit.log();
    log.records().iter().map(|record| format!("{record}: {}", record.classes)).collect()
}

#[test]
fn every_way_to_broadcast_is_seen() {
    let mutual = "[3, 1] and [1, 2] broadcasts to [3, 2]: stretched, mutual_stretch";
    let (column, row) = (column(), row());
    for (op, work) in [
        ("add", &(|| column.add(&row)) as &dyn Fn() -> Result<Tensor>),
        ("add", &|| (&column + &row).eval()),
        ("add", &|| Expr::from(&column).add(&row).eval()),
        ("maximum", &|| column.maximum(&row)),
        ("mul", &|| (&column * &row).exp().sum(0).eval()),
        ("add", &|| {
            let out = Tensor::zeros(&[3, 2])?;
            Tensor::apply_out(Op::Add, [(&column).into(), (&row).into()], &out)?;
            Ok(out)
        }),
        ("pow", &|| {
            let operands = [&column, &row].map(|operand| Argument::Expr(operand.into()));
            call(Op::Pow, Arguments { positional: operands.into(), named: Vec::new() })?.eval()
        }),
    ] {
        assert_eq!(recorded(work), [format!("{op} of {mutual}")]);
    }
    let big = Tensor::zeros(&[2, 3, 4]).unwrap();
    let vector = Tensor::ones(&[4]).unwrap();
    assert_eq!(
        recorded(|| big.add_(&vector).map(|()| big.alias())),
        ["add of [2, 3, 4] and [4] broadcasts to [2, 3, 4]: rank_added"]
    );
    assert_eq!(
        recorded(|| big.copy_(&vector).map(|()| big.alias())),
        ["copy_ of [2, 3, 4] and [4] broadcasts to [2, 3, 4]: rank_added"]
    );
    assert_eq!(
        recorded(|| big.addcmul(&vector, &vector, 2)),
        ["add of [2, 3, 4] and [4] broadcasts to [2, 3, 4]: rank_added"]
    );
    let batches = Tensor::ones(&[1, 4, 5]).unwrap();
    assert_eq!(recorded(|| big.matmul(&batches)), ["matmul of [2] and [1] broadcasts to [2]: stretched"]);
}

#[test]
fn what_is_no_implicit_broadcast_is_not_seen() {
    let (column, matrix) = (column(), Tensor::ones(&[3, 2]).unwrap());
    assert_eq!(recorded(|| matrix.add(&matrix)), [""; 0]);
    assert_eq!(recorded(|| matrix.add(1)), [""; 0]);
    assert_eq!(recorded(|| matrix.add(column.expand(&[3, 2])?)), [""; 0]);
    assert_eq!(recorded(|| (&matrix + Expr::from(&column).expand(&[3, 2])).eval()), [""; 0]);
    assert_eq!(recorded(|| Tensor::ones(&[5, 4, 3])?.matmul(&matrix)), [""; 0]);
    assert_eq!(recorded(|| matrix.fill_(1).map(|()| matrix.alias())), [""; 0]);
}

/// A formula's own stretches, as that of the largest element over its row in `softmax`, are no mistakes.
#[test]
fn no_operation_of_the_table_broadcasts_on_operands_of_one_shape() {
    let floats = Tensor::rand(&[4, 3], 1).unwrap();
    let operands =
        [&floats, &floats.gt(0.5).unwrap(), &(&floats * 9).to_dtype(zerostride::DType::I64).eval().unwrap()];
    let mut evaluated = 0;
    for &op in Op::ALL {
        for (operand, dim) in operands.into_iter().flat_map(|operand| [(operand, 0), (operand, 1)]) {
            let signature = op.signature();
            let named = signature.arguments.iter().filter_map(|argument| {
                let value = match argument.name {
                    "dim" => (dim as i64).into(),
                    "keepdim" => true.into(),
                    "condition" | "mask" => floats.gt(0.5).ok()?.into(),
                    _ if argument.default == zerostride_ops::Default::Required => operand.into(),
                    _ => return None,
                };
                Some((argument.name.to_owned(), Argument::Expr(value)))
            });
            let arguments = Arguments { positional: Vec::new(), named: named.collect() };
            let audit = Audit::start();
            if call(op, arguments).is_ok_and(|expr| expr.eval().is_ok()) {
                evaluated += 1;
                assert!(audit.log().records().is_empty(), "{op:?}: {}", audit.log());
            }
        }
    }
    assert!(evaluated > 3 * Op::ALL.len(), "{evaluated}");
}

#[test]
fn a_caller_is_the_line_that_wrote_the_operation_down() {
    let here = |audit: &Audit| {
        let caller = audit.log().records().last().unwrap().caller.clone();
        (caller.file().ends_with("policy.rs"), caller.line())
    };
    let (column, row) = (column(), row());
    let audit = Audit::start();
    let expr = &column - &row;
    let written = line!() - 1;
    expr.eval().unwrap();
    assert_eq!(here(&audit), (true, written));
    column.mul(&row).unwrap();
    assert_eq!(here(&audit), (true, line!() - 1));
    Tensor::zeros(&[3, 2]).unwrap().add_(&row).unwrap();
    assert_eq!(here(&audit), (true, line!() - 1));
    policy::report("torch.add", &[&[3, 1], &[2]], 4).unwrap();
    assert_eq!(here(&audit), (true, line!() - 1));
    policy::at(Caller::new("train.py", 7), || {
        column.div(&row).unwrap();
        policy::at(Caller::new("lib.py", 8), || column.pow(&row)).unwrap();
        column.atan2(&row).unwrap();
    });
    let named = audit.log().records().iter().map(|record| record.caller.to_string()).collect::<Vec<_>>();
    assert_eq!(named[named.len() - 3..], ["train.py:7", "lib.py:8", "train.py:7"]);
}

#[test]
fn an_inner_scope_decides_what_it_speaks_of_and_scopes_end_in_any_order() {
    let (column, row) = (column(), row());
    let refused = || match column.add(&row) {
        Err(error) => match error.root() {
            Error::Policy(objection) => Some(objection.class),
            _ => panic!("{error}"),
        },
        Ok(_) => None,
    };
    let outer = refuse(Class::Stretched).enter();
    let middle = refuse(Class::MutualStretch).enter();
    assert_eq!(refused(), Some(Class::MutualStretch));
    let inner = Policy::new().with(Class::MutualStretch, Action::Allow).enter();
    assert_eq!(refused(), Some(Class::Stretched));
    drop(outer);
    assert_eq!(refused(), None);
    drop(inner);
    assert_eq!(refused(), Some(Class::MutualStretch));
    drop(middle);
    assert_eq!(refused(), None);
}

#[test]
fn a_refused_operation_changes_nothing_and_shapes_that_do_not_fit_come_first() {
    let strict = refuse(Class::RankAdded).enter();
    let matrix = Tensor::zeros(&[3, 2]).unwrap();
    let error = matrix.add_(tensor![1.0, 2.0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the policy refuses rank_added: add of [3, 2] and [2] broadcasts to [3, 2], an operand gets a new dimension"
    );
    assert_eq!(matrix.sum(..).unwrap().item::<f32>().unwrap(), 0.0);
    drop(strict);
    let _strict = refuse(Class::MutualStretch).enter();
    let unfit = column().add_(row()).unwrap_err().to_string();
    assert_eq!(unfit, "output with shape [3, 1] doesn't match the broadcast shape [3, 2]");
}

#[test]
fn what_is_never_stored_is_no_blow_up() {
    let _limit = Policy::new().max_bytes(1 << 12).enter();
    let (a, b) = (Tensor::rand(&[100, 1, 3], 1).unwrap(), Tensor::rand(&[1, 100, 3], 2).unwrap());
    assert!((&a - &b).eval().is_err());
    assert_eq!((&a - &b).square().sum([1, 2]).eval().unwrap().numel(), 100);
    let factor = Tensor::ones(&[3, 1]).unwrap();
    assert!((&a - &b).matmul(&factor).eval().is_err());
    let existing = Tensor::zeros(&[100, 100]).unwrap();
    existing.add_(Tensor::ones(&[1, 100]).unwrap()).unwrap();
}

#[test]
fn a_call_site_is_warned_about_once() {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    policy::set_hook(|objection| HEARD.lock().unwrap().push(objection.to_string()));
    let _warned =
        Policy::new().with(Class::Stretched, Action::Warn).with(Class::RankAdded, Action::Warn).enter();
    let matrix = Tensor::ones(&[3, 2]).unwrap();
    for _ in 0..3 {
        matrix.mul(column()).unwrap();
        matrix.mul(tensor![1.0, 2.0]).unwrap();
    }
    assert_eq!(
        *HEARD.lock().unwrap(),
        [
            "stretched: mul of [3, 2] and [3, 1] broadcasts to [3, 2], a size of 1 is stretched",
            "rank_added: mul of [3, 2] and [2] broadcasts to [3, 2], an operand gets a new dimension",
        ]
    );
}

#[test]
fn a_report_begins_with_the_worst() {
    let audit = Audit::start();
    policy::at(Caller::new("a.py", 1), || Tensor::ones(&[100, 3])?.sub(tensor![1.0, 2.0, 3.0])).unwrap();
    for _ in 0..2 {
        policy::at(Caller::new("a.py", 2), || (column() * row()).sum(keepdim(0)).eval()).unwrap();
    }
    assert_eq!(
        audit.log().to_string(),
        "implicit broadcasts: 3, of 2 kinds\n\
         a.py:2: mul of [3, 1] and [1, 2] broadcasts to [3, 2], 24 bytes that never exist (x2), 2 times: stretched, mutual_stretch\n\
         a.py:1: sub of [100, 3] and [3] broadcasts to [100, 3], 1200 bytes (x1), once: rank_added"
    );
}

//! Gradients of expressions: against PyTorch's answers (`golden`), dual numbers and differences (`random`),
//! and wider numbers (`precision`), of operands that are read through views, and what is refused.

#![cfg(feature = "io")]

mod dual;
mod golden;
mod precision;
mod random;

use zerostride::policy::{self, Audit};
use zerostride::{DType, Error, Expr, Result, Slice, Tensor, tensor};

/// The gradient of the sum of products of an expression's elements with 1, 2, 3, ...
fn gradient(expr: &Expr, x: &Tensor) -> Result<Vec<f32>> {
    let shape = expr.shape()?.to_vec();
    let weights: Vec<f32> = (1..=shape.iter().product()).map(|weight: usize| weight as f32).collect();
    let gradients = expr.vjp(&Tensor::from_vec(weights, &shape)?, &[x])?;
    assert_eq!((gradients[0].shape()?, gradients[0].dtype()?), (x.shape(), x.dtype()));
    gradients[0].eval()?.to_vec::<f32>()
}

#[test]
fn gradients_of_stretched_operands_are_sums() -> Result<()> {
    let x = tensor![[1.0, 2.0], [3.0, 4.0]];
    let w = tensor![10.0, 1.0];
    let gradients = (&x * &w).square().sum(..).grad(&[&x, &w])?;
    assert_eq!(gradients[0].eval()?.to_vec::<f32>()?, [200.0, 4.0, 600.0, 8.0]);
    assert_eq!(gradients[1].eval()?.to_vec::<f32>()?, [200.0, 40.0]);
    let itself = Expr::from(&x).vjp(&x, &[&x])?[0].eval()?;
    assert!(itself.to_vec::<f32>()? == x.to_vec::<f32>()? && !itself.shares_storage(&x));
    assert!(!(&x * &w).sum(..).grad(&[&w])?[0].eval()?.shares_storage(&x));
    assert!(!Expr::from(&w).mul(tensor![5.0, 6.0]).sum(..).grad(&[&w])?[0].eval()?.shares_storage(&w));
    let pairs = (x.unsqueeze(1)? - x.unsqueeze(0)?).square().sum(-1).sum(..);
    assert_eq!(pairs.grad(&[&x])?[0].eval()?.to_vec::<f32>()?, [-8.0, -8.0, 8.0, 8.0]);
    Ok(())
}

#[test]
fn a_view_of_a_tensor_has_the_gradient_of_the_view_of_its_expression() -> Result<()> {
    let x = Tensor::rand(&[4, 3, 2], 1)?;
    macro_rules! both {
        ($($view:ident($($argument:expr),*);)*) => {
            vec![$((x.$view($($argument),*)?, Expr::from(&x).$view($($argument),*))),*]
        };
    }
    let views = both! {
        permute(&[2, 0, 1]);
        transpose(0, 2);
        flip(&[0, 2]);
        narrow(1, 1, 2);
        narrow(0, 2, 1);
        select(1, 2);
        select(0, -1);
        slice(0, Slice::from(1..).step_by(2));
        slice(0, Slice::from(..).step_by(-3));
        slice(1, 2..2);
        unsqueeze(1);
        flatten(0, -1);
        reshape(&[2, 12]);
        diagonal(0, 0, 1);
        diagonal(-2, 0, 1);
        unfold(0, 2, 2);
        unsqueeze(0);
    };
    for (tensor, expr) in views {
        assert_eq!(gradient(&Expr::from(&tensor), &x)?, gradient(&expr, &x)?, "{expr:?}");
    }
    // Several at once, and one of a view that is turned and stretched.
    let stretched = x.transpose(0, 1)?.unsqueeze(0)?.expand(&[5, 3, 4, 2])?.flip(&[1])?;
    let seen = Expr::from(&x).transpose(0, 1).unsqueeze(0).expand(&[5, 3, 4, 2]).flip(&[1]);
    assert_eq!(gradient(&Expr::from(&stretched), &x)?, gradient(&seen, &x)?);
    assert_eq!(
        gradient(&(&stretched * x.select(0, 0)?.select(1, 1)?.unsqueeze(-1)?.unsqueeze(-1)?), &x)?.len(),
        24
    );
    Ok(())
}

#[test]
fn a_tensor_beside_in_memory_has_zeros_and_windows_that_overlap_are_refused() -> Result<()> {
    let table = tensor![[1.0, 2.0], [3.0, 4.0]];
    let (first, second) = (table.select(1, 0)?, table.select(1, 1)?);
    assert_eq!((&first * 2.0).sum(..).grad(&[&second])?[0].eval()?.to_vec::<f32>()?, [0.0, 0.0]);
    assert_eq!((&first * 2.0).sum(..).grad(&[&first])?[0].eval()?.to_vec::<f32>()?, [2.0, 2.0]);
    let x = tensor![1.0, 2.0, 3.0];
    let error = Expr::from(&x.unfold(0, 2, 1)?).sum(..).grad(&[&x]).unwrap_err();
    assert!(error.to_string().contains("take the view of Expr::from(&tensor)"), "{error}");
    assert_eq!(gradient(&Expr::from(&x).unfold(0, 2, 1), &x)?, [1.0, 5.0, 4.0]);
    Ok(())
}

#[test]
fn gradients_keep_the_operands_dtypes() -> Result<()> {
    let (x, y) = (tensor![1.0, 2.0], tensor![3.0, 4.0].to_dtype(DType::F64)?);
    let half = x.to_dtype(DType::F16)?;
    let gradients = (&x * &y * &half).sum(..).grad(&[&x, &y, &half])?;
    let dtypes: Vec<DType> = gradients.iter().map(|gradient| gradient.dtype().unwrap()).collect();
    assert_eq!(dtypes, [DType::F32, DType::F64, DType::F16]);
    assert_eq!(gradients[2].eval()?.to_dtype(DType::F32)?.to_vec::<f32>()?, [3.0, 8.0]);
    let turned = Expr::from(&x).to_dtype(DType::C64).exp();
    assert_eq!(turned.abs().sum(..).grad(&[&x])?[0].dtype()?, DType::F32);
    Ok(())
}

#[test]
fn norms_and_deviations_change_by_nothing_at_0_forwards_as_backwards() -> Result<()> {
    let (zeros, ones) = (Tensor::zeros(&[3])?, Tensor::ones(&[3])?);
    let x = Expr::from(&zeros);
    let points = (x.unsqueeze(1) - &x).unsqueeze(-1);
    for f in [x.norm(2.0, ..), x.norm(1.5, ..), x.norm(0.5, ..), x.std(..), points.norm(2.0, -1).sum(..)] {
        assert_eq!(f.jvp(&[(&zeros, (&ones).into())])?.eval()?.item::<f32>()?, 0.0);
        assert_eq!(f.grad(&[&zeros])?[0].eval()?.to_vec::<f32>()?, [0.0; 3]);
    }
    Ok(())
}

/// Of a function of a row and a column, the change in a direction beside the product with each element of a
/// cotangent.
#[test]
fn a_change_in_a_direction_is_that_of_the_gradients() -> Result<()> {
    let (x, y) = (tensor![0.5, 1.5, 2.0], tensor![[1.0], [2.0]]);
    let (dx, dy) = (tensor![1.0, -1.0, 0.5], tensor![[2.0], [0.0]]);
    let f = (Expr::from(&x) * &y).tanh() / Expr::from(&y).exp().sum(..);
    let change = f.jvp(&[(&x, (&dx).into()), (&y, (&dy).into())])?;
    assert_eq!(change.shape()?, [2, 3]);
    let change = change.eval()?.to_vec::<f32>()?;
    for (place, change) in change.into_iter().enumerate() {
        let one = |at: usize| if at == place { 1.0 } else { 0.0 };
        let cotangent = Tensor::from_vec((0..6).map(one).collect::<Vec<f32>>(), &[2, 3])?;
        let gradients = f.vjp(&cotangent, &[&x, &y])?;
        let along = (&gradients[0] * &dx).sum(..) + (&gradients[1] * &dy).sum(..);
        assert!((along.eval()?.to_vec::<f32>()?[0] - change).abs() < 1e-6);
    }
    let floor = Expr::from(&x).floor().jvp(&[(&x, (&dx).into())])?;
    assert_eq!(floor.eval()?.to_vec::<f32>()?, [0.0; 3]);
    let error = f.jvp(&[(&x, (&dy).into())]).unwrap_err().to_string();
    assert!(error.starts_with("the tangent has shape"), "{error}");
    Ok(())
}

#[test]
fn what_has_no_gradient_is_refused_with_the_expression() {
    let (x, whole) = (tensor![1.0, 2.0], tensor![1, 2]);
    let e = Expr::from(&x);
    let expression = |result: Result<Vec<Expr>>| {
        let error = result.unwrap_err();
        (error.expression().unwrap_or_default().to_owned(), error.to_string())
    };
    let (at, message) = expression(e.exp().grad(&[&x]));
    assert!(at == "exp(a)" && message.contains("has shape [2]"), "{at}: {message}");
    let (at, message) = expression((&whole * 2).sum(..).grad(&[&whole]));
    assert!(at == "sum(a * 2, (0))" && message.contains("dtype i64"), "{at}: {message}");
    let (_, message) = expression((&x * &whole).sum(..).grad(&[&whole]));
    assert!(message.contains("only floating-point and complex tensors"), "{message}");
    let (at, message) = expression(e.heaviside(&x).sum(..).grad(&[&x]));
    assert!(
        at == "heaviside(a, a)" && message.starts_with("heaviside() has no derivative"),
        "{at}: {message}"
    );
    let (at, _) = expression(e.gt(0.0).to_dtype(DType::F32).sum(..).grad(&[&x]));
    assert_eq!(at, "a > 0.0");
    let (_, message) = expression(e.exp().vjp(1.0, &[&x]));
    assert!(message.contains("the cotangent has shape []"), "{message}");
    let wrong = e.add(tensor![1.0, 2.0, 3.0]).sum(..);
    assert!(matches!(wrong.grad(&[&x]).unwrap_err().root(), Error::Shape(_)));
    let square = (&x * &x).sum(..);
    x.add_(1).unwrap();
    assert!(matches!(square.grad(&[&x]), Err(Error::Modified { .. })));
}

#[test]
fn policies_judge_no_broadcast_of_a_gradient() -> Result<()> {
    let (x, m) = (Tensor::ones(&[4, 3])?, Tensor::ones(&[3])?);
    let loss = (&x - &m).square().sum(..);
    let audit = Audit::start();
    policy::check(&loss)?;
    let gradients = loss.grad(&[&x, &m])?;
    let log = audit.log();
    assert_eq!(log.records().len(), 1);
    for gradient in &gradients {
        policy::check(gradient)?;
    }
    assert!(audit.log().records().iter().all(|record| record.op == "sub"));
    Ok(())
}

#[test]
fn a_deep_expression_is_differentiated_without_recursion() -> Result<()> {
    let x = tensor![1.0, 2.0];
    let deep = (0..5000).fold(Expr::from(&x), |sum, _| sum * 1.0);
    let gradients = deep.sum(..).grad(&[&x])?;
    assert_eq!(gradients[0].shape()?, [2]);
    Ok(())
}

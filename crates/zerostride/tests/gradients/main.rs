//! Gradients of expressions against central differences, and against a small oracle of their own.

mod dual;
mod golden;
mod random;

use zerostride::{Expr, Result, Tensor, tensor};

#[test]
fn gradients_of_stretched_and_viewed_operands() -> Result<()> {
    let x = tensor![[1.0, 2.0], [3.0, 4.0]];
    let w = tensor![10.0, 1.0];
    let loss = (&x * &w).square().sum(..);
    let g = loss.grad(&[&x, &w])?;
    assert_eq!(g[0].eval()?.to_vec::<f32>()?, [200.0, 4.0, 600.0, 8.0]);
    assert_eq!(g[1].eval()?.to_vec::<f32>()?, [200.0, 40.0]);
    let d = (x.unsqueeze(1)? - x.unsqueeze(0)?).square().sum(-1).sum(..);
    let g = d.grad(&[&x])?;
    assert_eq!(g[0].eval()?.to_vec::<f32>()?, [-8.0, -8.0, 8.0, 8.0]);
    let y = tensor![1.0, 2.0, 3.0, 4.0, 5.0];
    let e = Expr::from(&y);
    for (e, want) in [
        (e.narrow(0, 1, 3), [0.0, 1.0, 1.0, 1.0, 0.0]),
        (e.slice(0, None, None, 2), [1.0, 0.0, 1.0, 0.0, 1.0]),
        (e.slice(0, None, None, -3), [0.0, 1.0, 0.0, 0.0, 1.0]),
        (e.select(0, -1), [0.0, 0.0, 0.0, 0.0, 1.0]),
        (e.unfold(0, 3, 1), [1.0, 2.0, 3.0, 2.0, 1.0]),
        (e.softmax(0).select(0, 0) * 0.0, [0.0; 5]),
        (Expr::from(&Tensor::zeros(&[2])?), [0.0; 5]),
    ] {
        let g = e.sum(..).grad(&[&y])?;
        assert_eq!(g[0].eval()?.to_vec::<f32>()?, want, "{e}");
    }
    let m = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let e = Expr::from(&m);
    let gg = (e.diagonal(1, 0, 1) * &tensor![7.0, 8.0]).sum(..).grad(&[&m])?;
    assert_eq!(gg[0].eval()?.to_vec::<f32>()?, [0.0, 7.0, 0.0, 0.0, 0.0, 8.0]);
    Ok(())
}

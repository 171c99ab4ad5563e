//! Gradients of expressions against central differences, and against a small oracle of their own.

use zerostride::{Expr, Result, Tensor, tensor};

#[test]
fn smoke() -> Result<()> {
    let x = tensor![[1.0, 2.0], [3.0, 4.0]];
    let w = tensor![10.0, 1.0];
    let loss = (&x * &w).square().sum(..);
    let g = loss.grad(&[&x, &w])?;
    println!("{} | {}", g[0], g[0].plan()?);
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
    for view in [y.narrow(0, 1, 3)?, y.slice(0, Some(1), None, 2)?, y.flip(&[0])?, y.unsqueeze(1)?.expand(&[5, 2])?] {
        let g = Expr::from(&view).sum(..).grad(&[&y])?;
        println!("{:?}", g[0].eval()?.to_vec::<f32>()?);
    }
    let m = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    for view in [m.t()?, m.select(1, 1)?, m.diagonal(1, 0, 1)?, m.slice(1, None, None, 2)?] {
        let g = (Expr::from(&view) * &view).sum(..).grad(&[&m])?;
        println!("{:?}", g[0].eval()?.to_vec::<f32>()?);
    }
    let e = Expr::from(&m);
    let gg = (e.diagonal(1, 0, 1) * &tensor![7.0, 8.0]).sum(..).grad(&[&m])?;
    assert_eq!(gg[0].eval()?.to_vec::<f32>()?, [0.0, 7.0, 0.0, 0.0, 0.0, 8.0]);
    for bad in [Expr::from(&m).gt(1.0).to_dtype(zerostride::DType::F32).sum(..), Expr::from(&m).exp(), Expr::from(&m).i0().sum(..)] {
        println!("{:?}", bad.grad(&[&m]).unwrap_err());
    }
    Ok(())
}

//! A hunt for mistakes: ten small programs as people write them, each with an unintended broadcast,
//! beside the program that was meant. None of the mistakes raises an error by itself; most give a number that
//! looks right.
//!
//! One policy finds them all and refuses none of their twins: it wants ranks to be written down, lets sizes
//! of 1 stretch, and sets a limit to memory. That is a good policy for training code.

use zerostride::policy::{Action, Audit, Class, Policy, Record};
use zerostride::{DType, Error, Expr, Result, Tensor, keepdim};

const STRICT: Policy = Policy::new()
    .with(Class::RankAdded, Action::Error)
    .with(Class::MutualStretch, Action::Error)
    .with(Class::SameNumel, Action::Error)
    .max_bytes(1 << 20);

/// Checks that the policy and the audit name `found` in the program with the mistake, and nothing in the one
/// that was meant.
fn hunt(class: Class, found: &str, mistake: impl Fn() -> Result<Tensor>, meant: impl Fn() -> Result<Tensor>) {
    // There is no warning: that is the trouble.
    let (wrong, right) = (mistake().unwrap(), meant().unwrap());
    assert_ne!(wrong.to_string(), right.to_string(), "the mistake makes no difference");

    // The policy refuses it, and says where it is.
    let strict = STRICT.enter();
    let error = mistake().unwrap_err();
    let Error::Policy(objection) = error.root() else { panic!("{error}") };
    assert_eq!((objection.class, &*objection.record.to_string()), (class, found));
    assert!(objection.record.caller.file().ends_with("mistakes.rs"), "{}", objection.record.caller);
    assert_eq!(error.diagnostic().unwrap().shapes, objection.record.shapes);
    assert_eq!(meant().unwrap().to_string(), right.to_string());
    drop(strict);

    // The audit names it too, and lets the program run.
    let named = in_audit(&mistake);
    assert!(named.contains(&objection.record), "{named:?}");
    assert_eq!(in_audit(&meant), []);
}

/// The broadcasts of a program that do more than stretch sizes of 1.
fn in_audit(program: &impl Fn() -> Result<Tensor>) -> Vec<Record> {
    let _limit = Policy::new().with(Class::BlowUp, Action::Allow).max_bytes(1 << 20).enter();
    let audit = Audit::start();
    program().unwrap();
    let log = audit.log();
    let more = |record: &&Record| record.classes.iter().any(|class| class != Class::Stretched);
    log.records().iter().filter(more).cloned().collect()
}

fn uniform(shape: &[usize], seed: u64) -> Tensor {
    Tensor::rand(shape, seed).unwrap()
}

/// A network with one output gives `(N, 1)`, a data set has `(N,)`: every prediction meets every target.
#[test]
fn mean_squared_error_of_a_column_and_a_vector() {
    let (output, target) = (uniform(&[32, 1], 1), uniform(&[32], 2));
    hunt(
        Class::MutualStretch,
        "sub of [32, 1] and [32] broadcasts to [32, 32]",
        || (&output - &target).square().mean(..).eval(),
        || (output.squeeze_dims(&[1])? - &target).square().mean(..).eval(),
    );
}

/// NCHW images whose width happens to be the number of channels: the bias lands on columns of pixels.
#[test]
fn bias_per_channel_on_the_width() {
    let (images, bias) = (uniform(&[2, 3, 4, 3], 1), uniform(&[3], 2));
    hunt(
        Class::RankAdded,
        "add of [2, 3, 4, 3] and [3] broadcasts to [2, 3, 4, 3]",
        || images.add(&bias),
        || images.add(bias.reshape(&[1, 3, 1, 1])?),
    );
}

/// The means of a square table's rows, taken from its columns.
#[test]
fn rows_standardised_without_keepdim() {
    let table = uniform(&[5, 5], 1);
    hunt(
        Class::RankAdded,
        "sub of [5, 5] and [5] broadcasts to [5, 5]",
        || ((&table - table.mean(1)?) / table.std(1)?).eval(),
        || ((&table - table.mean(keepdim(1))?) / table.std(keepdim(1))?).eval(),
    );
}

/// The loss of each sample kept its dimension, the weight of each sample's class has none.
#[test]
fn class_weights_on_losses_that_kept_a_dimension() -> Result<()> {
    let log_probabilities = uniform(&[8, 3], 1).log_softmax(1)?;
    let chosen = Tensor::from_slice(&[0i64, 2, 1, 1, 0, 2, 2, 1], &[8, 1])?
        .eq(Tensor::arange(0, 3, 1)?.unsqueeze(0)?)?;
    let weights = Tensor::from_slice(&[0.5f32, 2.0, 1.0, 1.0, 0.5, 2.0, 2.0, 1.0], &[8])?;
    let likelihood = &log_probabilities * chosen.to_dtype(DType::F32)?;
    hunt(
        Class::MutualStretch,
        "mul of [8, 1] and [8] broadcasts to [8, 8]",
        || (-likelihood.sum(keepdim(1)) * &weights).mean(..).eval(),
        || (-likelihood.sum(1) * &weights).mean(..).eval(),
    );
    Ok(())
}

/// A mask of the keys of each sequence taken for one of queries by keys: the batch is as long as the
/// sequences.
#[test]
fn attention_mask_of_a_batch_on_queries() -> Result<()> {
    let (scores, padding) = (uniform(&[4, 2, 4, 4], 1), uniform(&[4, 4], 2).gt(0.7)?);
    let attention =
        |padding: &Tensor| Expr::from(&scores).masked_fill(padding, f64::NEG_INFINITY).softmax(-1).eval();
    hunt(
        Class::RankAdded,
        "where of [4, 4] and [4, 2, 4, 4] broadcasts to [4, 2, 4, 4]",
        || attention(&padding),
        || attention(&padding.reshape(&[4, 1, 1, 4])?),
    );
    Ok(())
}

/// Labels that were read from a table as a column: each prediction is compared with all of them.
#[test]
fn accuracy_against_a_column_of_labels() -> Result<()> {
    let predictions = uniform(&[16, 10], 1).argmax(1)?;
    let labels = (uniform(&[16, 1], 2) * 10).floor().to_dtype(DType::I64).eval()?;
    hunt(
        Class::MutualStretch,
        "eq of [16] and [16, 1] broadcasts to [16, 16]",
        || predictions.eq(&labels)?.to_dtype(DType::F32)?.mean(..),
        || predictions.eq(labels.flatten(0, -1)?)?.to_dtype(DType::F32)?.mean(..),
    );
    Ok(())
}

/// Mean and variance come out of a network as columns, the target is a vector.
#[test]
fn gaussian_likelihood_of_columns_and_a_vector() {
    let (mean, variance, target) = (uniform(&[12, 1], 1), uniform(&[12, 1], 2), uniform(&[12], 3));
    let loss = |mean: &Tensor, variance: &Tensor| {
        let variance = Expr::from(variance) + 0.1;
        ((mean - &target).square() / &variance + variance.log()).mean(..).eval()
    };
    hunt(
        Class::MutualStretch,
        "sub of [12, 1] and [12] broadcasts to [12, 12]",
        || loss(&mean, &variance),
        || loss(&mean.squeeze()?, &variance.squeeze()?),
    );
}

/// Dot products lost their dimension, norms kept it.
#[test]
fn cosine_similarity_with_norms_that_kept_a_dimension() {
    let (a, b) = (uniform(&[6, 20], 1), uniform(&[6, 20], 2));
    let dot = (&a * &b).sum(1);
    hunt(
        Class::MutualStretch,
        "div of [6] and [6, 1] broadcasts to [6, 6]",
        || (&dot / a.norm(2.0, keepdim(1))? / b.norm(2.0, keepdim(1))?).eval(),
        || (&dot / a.norm(2.0, 1)? / b.norm(2.0, 1)?).eval(),
    );
}

/// One step of gradient descent: the parameters are a column, their gradient was summed to a vector. In
/// place, the shape would have been an error.
#[test]
fn gradient_of_another_shape_than_its_parameters() -> Result<()> {
    let (inputs, parameters) = (uniform(&[50, 7], 1), uniform(&[7, 1], 2));
    let residuals = inputs.matmul(&parameters)?;
    let gradient = |dims: zerostride::Dims| (&inputs * &residuals).mean(dims);
    hunt(
        Class::MutualStretch,
        "sub of [7, 1] and [7] broadcasts to [7, 7]",
        || (&parameters - gradient(0.into()) * 0.1).eval(),
        || (&parameters - gradient(keepdim(0)).t() * 0.1).eval(),
    );
    Ok(())
}

/// Residuals of a thousand measurements with themselves: 4 MB where 4 kB were meant, and with a hundred times
/// as many measurements all memory there is. Where the table is only summed up it never exists, and its size
/// is no objection.
#[test]
fn residuals_of_all_pairs_that_fill_the_memory() -> Result<()> {
    let (measured, model) = (uniform(&[1000, 1], 1), uniform(&[1, 1000], 2));
    hunt(
        Class::BlowUp,
        "sub of [1000, 1] and [1, 1000] broadcasts to [1000, 1000]",
        || measured.sub(&model)?.abs(),
        || measured.sub(model.t()?)?.abs(),
    );
    let _limit = Policy::new().max_bytes(1 << 20).enter();
    assert_eq!((&measured - &model).abs().sum(1).eval()?.numel(), 1000);
    Ok(())
}

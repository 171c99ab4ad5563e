"""scikit-learn's and SciPy's functions on tensors beside the same calls on NumPy's arrays: ``python neighbours.py sklearn|scipy``.

Prints a line for each call that fails or differs, and at last how many agree. SciPy reads ``SCIPY_ARRAY_API`` when it is
imported, so that the tests run this file in a process of its own. Calls are separated by `|`.
"""

import os
import sys
import warnings

import numpy as np
import zerostride as zs

# `x` and `p` (positive) are tables, `y` and `z` classes, `q` probabilities, the others numbers, `s` sorted.
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
T = X @ np.arange(1.0, 6) + 0.1 * RNG.normal(size=60)
VALUES = {
    "x": X, "p": np.abs(X) + 0.1, "y": (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int), "z": (X[:, 1] > 0).astype(int), "t": T,
    "v": T + RNG.normal(size=60), "u": RNG.random(60), "w": RNG.random(60), "q": 1 / (1 + np.exp(-X[:, 0])), "s": np.sort(RNG.random(60)),
}  # fmt: skip

SKLEARN = """
fit(pre.StandardScaler(), x) | fit(pre.MinMaxScaler(), x) | fit(pre.MaxAbsScaler(), x) | fit(pre.Normalizer(), x) | fit(pre.Binarizer(), x) |
fit(pre.Normalizer(norm="max"), x) | fit(pre.PolynomialFeatures(), x) | fit(pre.KernelCenterer(), x[:5] @ x[:5].T) | fit(pre.RobustScaler(), x) |
fit(pre.LabelBinarizer(), y) | fit(pre.LabelEncoder(), y) | abs(fit(dec.PCA(3, svd_solver="full"), x)) |
abs(fit(dec.PCA(3, svd_solver="covariance_eigh"), x)) | abs(fit(dec.PCA(3, svd_solver="randomized", random_state=0), x)) |
fit(lin.Ridge(solver="svd"), x, t) | fit(lin.RidgeCV(alphas=[0.1, 1.0]), x, t) | fit(lin.RidgeClassifier(solver="svd"), x, y) |
fit(lin.RidgeClassifierCV(), x, y) | fit(lin.LogisticRegression(solver="lbfgs"), x, y) | fit(lin.LinearRegression(), x, t) |
fit(lin.PoissonRegressor(solver="lbfgs"), x, abs(t)) | fit(lda.LinearDiscriminantAnalysis(), x, y) | fit(bayes.GaussianNB(), x, y) |
fit(mix.GaussianMixture(2, random_state=0, init_params="random"), x) | fit(kernels.Nystroem(n_components=5, random_state=0), x) |
fit(pipe.make_pipeline(pre.StandardScaler(), lin.Ridge(solver="svd")), x, t) | sel.train_test_split(x, y, random_state=0)[1] |
sel.cross_val_predict(lin.Ridge(solver="svd"), x, t) | sum(sel.cross_val_score(lin.Ridge(solver="svd"), x, t)) |
fit(sel.GridSearchCV(lin.Ridge(solver="svd"), {"alpha": [0.1, 1.0]}), x, t) | met.accuracy_score(y, z) | met.zero_one_loss(y, z) |
met.f1_score(y, z) | met.precision_score(y, z) | met.recall_score(y, z) | met.jaccard_score(y, z) | met.hamming_loss(y, z) |
met.confusion_matrix(y, z) | met.multilabel_confusion_matrix(y, z) | met.balanced_accuracy_score(y, z) | met.cohen_kappa_score(y, z) |
met.matthews_corrcoef(y, z) | met.log_loss(y, q) | met.brier_score_loss(y, q) | met.roc_auc_score(y, q) | met.roc_curve(y, q)[1] |
met.precision_recall_curve(y, q)[0] | met.average_precision_score(y, q) | met.det_curve(y, q)[0] | met.mean_squared_error(t, v) |
met.root_mean_squared_error(t, v) | met.mean_absolute_error(t, v) | met.mean_absolute_percentage_error(t, v) | met.max_error(t, v) |
met.median_absolute_error(t, v) | met.r2_score(t, v) | met.explained_variance_score(t, v) | met.mean_squared_log_error(abs(t), abs(v)) |
met.mean_tweedie_deviance(u, w) | met.mean_pinball_loss(t, v) | met.d2_tweedie_score(u, w) | met.d2_absolute_error_score(t, v) |
met.mean_poisson_deviance(u, w) | met.mean_gamma_deviance(u, w) | pair.cosine_similarity(p, p) | pair.cosine_distances(p, p) |
pair.euclidean_distances(p, p) | pair.linear_kernel(p, p) | pair.polynomial_kernel(p, p) | pair.rbf_kernel(p, p) | pair.sigmoid_kernel(p, p) |
pair.laplacian_kernel(p, p) | pair.chi2_kernel(p, p) | pair.additive_chi2_kernel(p, p) | pair.paired_cosine_distances(p, p) |
pair.paired_euclidean_distances(p, p) | pair.manhattan_distances(p, p) | pair.pairwise_kernels(p, p)
"""

SCIPY = """
sp.softmax(x) | sp.log_softmax(x) | sp.logsumexp(x, axis=1) | sp.erf(x) | sp.gammaln(u) | sp.expit(x) | sp.logit(u) | sp.i0(x) | sp.entr(u) |
sp.rel_entr(u, w) | sp.kl_div(u, w) | sp.xlogy(u, w) | sp.ndtr(x) | sp.ndtri(u) | sp.betainc(u, w, u) | sp.gammainc(u, w) | sp.chdtr(u, w) |
sp.digamma(u) | st.zscore(x) | st.skew(x, axis=1) | st.kurtosis(x, axis=1) | st.moment(x, 3, axis=1) | st.gmean(u) | st.hmean(u) |
st.pmean(u, 2) | st.variation(u) | st.sem(x, axis=1) | st.entropy(u) | st.describe(v).variance | st.ttest_ind(v, u).pvalue |
st.ttest_1samp(v, 0.0).statistic | st.ttest_rel(u, w).statistic | st.pearsonr(u, w).statistic | st.spearmanr(u, w).statistic |
st.mannwhitneyu(u, w).pvalue | st.ks_1samp(v, sp.ndtr).statistic | st.wilcoxon(u, w).statistic | st.kruskal(u, w).statistic |
st.f_oneway(u, w).statistic | st.bartlett(u, w).statistic | st.levene(u, w).statistic | st.chisquare(u, u).pvalue | st.normaltest(v).statistic |
st.power_divergence(u).statistic | st.jarque_bera(v).statistic | st.rankdata(v) | st.mode(x, axis=1).mode | st.iqr(v) | st.quantile(v, 0.3) |
st.trim_mean(v, 0.1) | st.tmean(v) | st.tvar(v) | st.circmean(v) | st.gzscore(u) | st.zmap(v, u) | st.gstd(u + 1) | st.boxcox_llf(0.5, u) |
st.combine_pvalues(u).pvalue | st.false_discovery_control(u) | st.lmoment(v) | st.fligner(u, w).statistic | st.median_abs_deviation(v) |
fft.fft(x) | fft.irfft(fft.rfft(x)) | fft.fft2(x) | fft.dct(x) | fft.dst(x) | fft.hfft(x) | fft.fftshift(x) | fft.fht(u, 0.1, 0.2) |
sg.convolve(u, w) | sg.fftconvolve(x, x, axes=1) | sg.oaconvolve(u, w) | sg.correlate(u, w) | sg.detrend(x) | sg.hilbert(u) |
sg.lfilter(u[:3], w[:3], x) | sg.savgol_filter(v, 5, 2) | sg.medfilt(v, 3) | sg.wiener(v) | sg.resample(v, 10) | sg.upfirdn(u[:3], v) |
sg.convolve2d(x, x[:2, :2]) | nd.gaussian_filter(x, 1.0) | nd.uniform_filter(x) | nd.median_filter(x, 3) | nd.sobel(x) | nd.laplace(x) |
nd.convolve(x, x[:3, :3]) | nd.maximum_filter(x, 3) | nd.rotate(x, 30.0) | nd.zoom(x, 2.0) | nd.label(x > 0)[0] | nd.binary_erosion(x > 0) |
nd.distance_transform_edt(x > 0) | nd.sum_labels(x, x > 0) | cl.vq.whiten(x) | cl.vq.vq(x, x[:2])[0] | cl.vq.kmeans2(x, x[:2])[1] |
cl.hierarchy.linkage(x) | ig.trapezoid(x, axis=1) | ig.cumulative_trapezoid(x) | ig.cumulative_simpson(x) |
ig.tanhsinh(lambda a: a**2, u, u + 1).integral | ig.cubature(lambda a: a[:, 0], u[:1], w[:1] + 1).estimate | op.rosen(x) | op.rosen_der(u) |
df.derivative(lambda a: a**2, u).df | ip.CubicSpline(s, v)(u) | ip.PchipInterpolator(s, v)(u) | ip.Akima1DInterpolator(s, v)(s) |
ip.RegularGridInterpolator((s,), v)(s[:, None]) | ro.from_rotvec(x[:, :3]).as_matrix() | ro.from_quat(x[:, :4]).as_euler("xyz")
"""


def fitted(estimator, *data):
    """What an estimator makes of the data that it was fitted to."""
    method = "transform" if hasattr(estimator, "transform") else "predict"
    return getattr(estimator.fit(*data), method)(data[0])


def sklearn():
    import sklearn
    from sklearn import decomposition, discriminant_analysis, kernel_approximation, linear_model, metrics, mixture
    from sklearn import model_selection, naive_bayes, pipeline, preprocessing

    sklearn.set_config(array_api_dispatch=True)
    return SKLEARN, {
        "fit": fitted, "pre": preprocessing, "dec": decomposition, "lin": linear_model, "lda": discriminant_analysis, "bayes": naive_bayes,
        "mix": mixture, "kernels": kernel_approximation, "pipe": pipeline, "sel": model_selection, "met": metrics, "pair": metrics.pairwise,
    }  # fmt: skip


def scipy():
    import scipy.cluster
    from scipy import cluster, differentiate, fft, integrate, interpolate, ndimage, optimize, signal, special, stats
    from scipy.spatial.transform import Rotation

    return SCIPY, {
        "sp": special, "st": stats, "fft": fft, "sg": signal, "nd": ndimage, "cl": cluster, "ig": integrate, "op": optimize, "ip": interpolate,
        "df": differentiate, "ro": Rotation,
    }  # fmt: skip


def difference(call, names):
    """What is wrong with a call's result on tensors, or an empty text."""
    wanted = np.asarray(eval(call, names | VALUES))
    try:
        found = eval(call, names | {name: zs.tensor(value) for name, value in VALUES.items()})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if wanted.ndim and (not isinstance(found, zs.Tensor) or found.shape != wanted.shape):
        return f"a {type(found).__name__} of shape {np.shape(found)}"
    return "" if np.allclose(np.asarray(found), wanted, equal_nan=True) else "other values"


def main():
    os.environ["SCIPY_ARRAY_API"] = "1"
    warnings.simplefilter("ignore")
    table, names = {"sklearn": sklearn, "scipy": scipy}[sys.argv[1]]()
    calls = [call.strip() for call in table.replace("\n", " ").split(" | ") if call.strip(" |")]
    wrong = {call: difference(call, names) for call in calls}
    for call, what in wrong.items():
        if what:
            print(f"{call}: {what}")
    print(f"{sum(not what for what in wrong.values())} of {len(calls)} agree")


if __name__ == "__main__":
    main()

"""Policies and audits: of our tensors, and of torch's."""

import threading
import warnings

import numpy as np
import pytest
import zerostride as zs


def loss(output, target):
    return ((output - target) ** 2).mean()


def test_a_policy_refuses_with_data_and_advice():
    with zs.policy(mutual_stretch="error"):
        with pytest.raises(zs.BroadcastError, match="the policy refuses mutual_stretch") as caught:
            loss(zs.ones(32, 1), zs.ones(32))
        loss(zs.ones(32), zs.ones(32))
        zs.ones(32, 1) + 1
    assert caught.value.shapes == ((32, 1), (32,))
    assert caught.value.repairs[0]["call"]
    assert caught.value.__notes__
    assert loss(zs.ones(32, 1), zs.ones(32)).item() == 0


def test_fused_functions_are_judged_too():
    fused = zs.fuse(loss)
    fused(np.ones((32, 1)), np.ones(32))
    with zs.policy(mutual_stretch="error"), pytest.raises(zs.BroadcastError):
        fused(np.ones((32, 1)), np.ones(32))
    with zs.audit() as log:
        fused(np.ones((32, 1)), np.ones(32))
    assert not log.records[0].stored


def test_a_policy_warns_once_at_the_line_of_the_program():
    with zs.policy(rank_added="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            zs.ones(2, 3) + zs.ones(3)
    assert len(caught) == 1
    assert caught[0].category is zs.BroadcastWarning
    assert caught[0].filename == __file__


def test_a_limit_in_bytes():
    with zs.policy(max_bytes="1 MiB"):
        with pytest.raises(zs.BroadcastError, match="blow_up"):
            zs.ones(1000, 1) + zs.ones(1000)
        zs.evaluate("(a + b).sum(-1)", a=zs.ones(1000, 1), b=zs.ones(1000))


@pytest.mark.parametrize("wrong", [{"mutual": "error"}, {"stretched": "forbid"}, {"max_bytes": "2 parsecs"}])
def test_mistakes_in_a_policy_are_said(wrong):
    with pytest.raises(ValueError):
        zs.policy(**wrong)


def test_policies_nest_and_belong_to_their_thread():
    failed = []
    with zs.policy(stretched="error"):
        with zs.policy(stretched="allow"):
            zs.ones(1, 3) + zs.ones(2, 3)
        with pytest.raises(zs.BroadcastError):
            zs.ones(1, 3) + zs.ones(2, 3)

        def other():
            try:
                zs.ones(1, 3) + zs.ones(2, 3)
            except RuntimeError as error:
                failed.append(error)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert not failed

    @zs.policy(stretched="error")
    def strict():
        return zs.ones(1, 3) + zs.ones(2, 3)

    with pytest.raises(zs.BroadcastError):
        strict()


def test_an_audit_records_file_and_line():
    with zs.audit() as log:
        for _ in range(3):
            zs.ones(32, 1) - zs.ones(32)
        np.add(zs.ones(2, 3), zs.ones(3))
        zs.ones(3) + zs.ones(3)
    first, second = log.records
    assert (first.op, first.shapes, first.result, first.times) == ("sub", ((32, 1), (32,)), (32, 32), 3)
    assert "mutual_stretch" in first.classes
    assert first.bytes == 32 * 32 * 4
    assert (first.file, second.line - first.line) == (__file__, 1)
    assert second.classes == ("rank_added",)
    assert str(log).index("sub of") < str(log).index("add of")
    assert "<table>" in log.html()
    zs.ones(1, 3) + zs.ones(2, 3)
    assert len(log.records) == 2


def test_torch_programs_are_audited(torch, capsys):
    output, target = torch.ones(32, 1, requires_grad=True), torch.ones(32)
    with zs.audit() as log:
        ((output - target) ** 2).mean().backward()
        torch.nn.functional.l1_loss(target, target)
        output.add(target)
        target.clone().add_(torch.ones(1))
    assert [(record.op, record.file) for record in log.records] == [("torch.sub", __file__), ("torch.add", __file__), ("torch.add", __file__)]
    assert "mutual_stretch" in log.records[0].classes
    log.report()
    assert "torch.sub of [32, 1] and [32]" in capsys.readouterr().out
    with zs.policy(mutual_stretch="error"):
        with pytest.raises(zs.BroadcastError):
            output * target
        torch.nn.functional.mse_loss(target, target)
    output * target


def test_explanations():
    told = zs.explain((5, 1, 4, 1), zs.ones(3, 1, 2))
    assert "broadcast to (5, 3, 4, 2)" in str(told)
    assert told.to_dict()["shape"] == [5, 3, 4, 2]
    assert told.svg.startswith("<svg")
    assert "<svg" in told._repr_html_()
    assert str(zs.explain((2, 3), (3,), lang="it")) != str(zs.explain((2, 3), (3,)))
    refused = zs.explain(output=(32, 10), target=(32,))
    assert refused.to_dict()["repairs"][0]["call"] == "target.unsqueeze(-1)"
    for wrong in ({"lang": "xx"}, {"op": "nothing"}):
        with pytest.raises(ValueError):
            zs.explain((1,), **wrong)
    with pytest.raises(TypeError):
        zs.explain("text")

"""The formulas give what the frameworks' own code gives, and what published runs printed.

The golden values were computed by the sources themselves, with the arguments of each model for a run's:
num_floating_point_operations of Megatron-LM core_v0.11.0 and core_v0.13.1, get_flops of nanotron 2411b02,
get_actual_flops of GPT-NeoX ea7aefd, estimate_mfu of nanoGPT 3adf61e.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.flops import FORMULAS, Experts, LatentAttention, ModelShape, Recomputation
from holter.flops.formulas import forward_flops, recomputed_flops

GPT3 = ModelShape(
    layers=96, hidden=12288, heads=96, kv_heads=96, head_width=128, ffn=49152, vocabulary=51200,
    sequence=2048, tied=True, biases=True, positions=2048,
)  # fmt: skip
LLAMA2_7B = ModelShape(
    layers=32, hidden=4096, heads=32, kv_heads=32, head_width=128, ffn=11008, vocabulary=32000, sequence=4096,
    gated=True,
)  # fmt: skip
LLAMA3_8B = ModelShape(
    layers=32, hidden=4096, heads=32, kv_heads=8, head_width=128, ffn=14336, vocabulary=128256, sequence=8192,
    gated=True,
)  # fmt: skip
LLAMA3_70B = replace(LLAMA3_8B, layers=80, hidden=8192, heads=64, ffn=28672)
MIXTRAL = replace(
    LLAMA3_8B, vocabulary=32000, sequence=4096, experts=Experts(count=8, active=2, ffn=14336, layers=32)
)
DEEPSEEK_V3 = ModelShape(
    layers=61, hidden=7168, heads=128, kv_heads=128, head_width=56, ffn=18432, vocabulary=129280,
    sequence=4096, gated=True, experts=Experts(count=256, active=8, ffn=2048, layers=58, shared=2048),
    latent=LatentAttention(key_value_rank=512, plain=128, rotary=64, value=128, query_rank=1536),
)  # fmt: skip
GPT2 = ModelShape(
    layers=12, hidden=768, heads=12, kv_heads=12, head_width=64, ffn=3072, vocabulary=50304, sequence=1024,
    tied=True, positions=1024,
)  # fmt: skip
BLOOM = ModelShape(
    layers=70, hidden=14336, heads=112, kv_heads=112, head_width=128, ffn=57344, vocabulary=250880,
    sequence=2048, tied=True, biases=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [
        (LLAMA2_7B, 6_738_415_616),
        (LLAMA3_8B, 8_030_261_248),
        (LLAMA3_70B, 70_553_706_496),
        (MIXTRAL, 46_702_792_704),
        (replace(GPT2, vocabulary=50257, biases=True), 124_439_808),
        (replace(GPT2, positions=0), 123_587_328),  # "number of parameters: 123.59M", as nanoGPT prints
    ],
)
def test_parameters_are_those_of_the_published_models(shape: ModelShape, parameters: int) -> None:
    assert shape.parameters == parameters


def test_parameters_of_models_with_special_parts_are_right_to_a_thousandth() -> None:
    assert DEEPSEEK_V3.parameters == pytest.approx(671e9, rel=1e-3)
    assert DEEPSEEK_V3.visited_parameters == pytest.approx(37e9, rel=0.02)
    assert BLOOM.parameters == pytest.approx(176_247_271_424, rel=1e-6)  # its embeddings have a norm
    assert GPT3.parameters == pytest.approx(174.6e9, rel=1e-3)


@pytest.mark.parametrize(
    ("formula", "shape", "per_token"),
    [
        ("megatron-0.11", GPT3, 1076442955776.0),
        ("megatron-0.11", LLAMA2_7B, 46084915200.0),
        ("megatron-0.11", LLAMA3_8B, 57912852480.0),
        ("megatron-0.11", LLAMA3_70B, 481434796032.0),
        ("megatron-0.11", MIXTRAL, 82927681536.0),
        ("megatron-0.11", replace(DEEPSEEK_V3, latent=None), 1278938185728.0),  # it knows no MLA
        ("megatron-0.11", GPT2, 854654976.0),
        ("megatron-0.12", GPT3, 1061947441152.0),
        ("megatron-0.12", LLAMA2_7B, 42863689728.0),
        ("megatron-0.12", LLAMA3_8B, 51470401536.0),
        ("megatron-0.12", LLAMA3_70B, 449222541312.0),
        ("megatron-0.12", MIXTRAL, 79706456064.0),
        ("megatron-0.12", DEEPSEEK_V3, 249812054016.0),
        ("megatron-0.12", GPT2, 798031872.0),
        ("nanotron", LLAMA2_7B, 46084915200.0),
        ("nanotron", LLAMA3_8B, 57912852480.0),
        ("nanotron", LLAMA3_70B, 481434796032.0),
        ("megatron-paper", GPT3, 1075499237376.0),
        ("megatron-paper", GPT2, 796704768.0),
        ("palm", GPT2, 854770176.0),
        ("palm", replace(GPT2, vocabulary=50257, biases=True), 855166464.0),
    ],
)
def test_formulas_give_what_the_sources_give(formula: str, shape: ModelShape, per_token: float) -> None:
    assert FORMULAS[formula].per_token(shape, False) == pytest.approx(per_token, rel=1e-12)


def test_four_passes_where_activations_are_recomputed() -> None:
    assert FORMULAS["megatron-paper"].per_token(GPT3, True) == pytest.approx(1433998983168.0, rel=1e-12)


def test_the_tflops_that_bloom_printed() -> None:
    """`elapsed time per iteration (s): 105.22 | global batch size: 2048 | TFLOPs: 149.02`, 384 A100.

    bigscience-workshop/bigscience train/tr11-176B-ml/chronicles.md
    """
    tokens = 2048 * 2048 / 105.22 / 384
    assert FORMULAS["bigscience"].per_token(BLOOM, True) * tokens / 1e12 == pytest.approx(149.02, abs=0.005)


def test_the_mfu_of_nanogpt_on_gpt2() -> None:
    """480 sequences in 250 ms: 5.386 on the scale of one A100, by its own estimate_mfu."""
    mfu = FORMULAS["palm"].per_token(GPT2, False) * 480 * 1024 / 0.25 / 312e12
    assert mfu == pytest.approx(5.38636713984, rel=1e-12)


def test_the_share_that_torchtitan_published_for_llama_3_8b() -> None:
    """5,762 and 6,667 tokens a second on an H100 are called 33% and 39% MFU (benchmarks/, 2024-12)."""
    each = FORMULAS["torchtitan"].per_token(LLAMA3_8B, False)
    assert 5762 * each / 989e12 == pytest.approx(0.337, abs=0.005)
    assert 6667 * each / 989e12 == pytest.approx(0.390, abs=0.005)


def test_the_days_that_megatron_published_for_gpt3() -> None:
    """300 billion tokens on 1,024 A100 at 140 TFLOPS with recomputation: 34 days (arXiv:2104.04473, 5.4)."""
    seconds = FORMULAS["megatron-paper"].per_token(GPT3, True) * 300e9 / (1024 * 140e12)
    assert seconds / 86400 == pytest.approx(34, rel=0.03)


def test_the_flops_that_llama_3_published() -> None:
    """3.8e25 on 15.6 trillion tokens, by 6N (arXiv:2407.21783, 3.2)."""
    large = replace(LLAMA3_8B, layers=126, hidden=16384, heads=128, ffn=53248)
    assert large.parameters == pytest.approx(405e9, rel=0.003)
    assert FORMULAS["ml-engineering"].per_token(large, False) * 15.6e12 == pytest.approx(3.8e25, rel=0.01)


def test_the_flops_a_token_of_llama_3_as_others_count_them() -> None:
    """2.54 TFLOPs a token at 8,192, half of the attention (https://folu.me/post/deepseek)."""
    large = replace(LLAMA3_8B, layers=126, hidden=16384, heads=128, ffn=53248)
    assert FORMULAS["holter"].per_token(large, False) == pytest.approx(2.54e12, rel=0.01)


def test_holters_formula_equals_megatrons_where_both_count_the_same() -> None:
    for shape in (GPT3, LLAMA2_7B, LLAMA3_8B, LLAMA3_70B, GPT2):
        own = FORMULAS["holter"].per_token(shape, False)
        assert own == pytest.approx(FORMULAS["megatron-0.12"].per_token(shape, False), rel=1e-12)
    for shape in (MIXTRAL, DEEPSEEK_V3):  # the router is counted besides
        own = FORMULAS["holter"].per_token(shape, False)
        assert own == pytest.approx(FORMULAS["megatron-0.12"].per_token(shape, False), rel=0.005)


def test_every_formula_names_its_source() -> None:
    for name, formula in FORMULAS.items():
        assert formula.name == name
        assert "/" in formula.source, f"{name}: a repository and a file, or a page"


shapes = st.builds(
    lambda layers, heads, groups, width, ffn, vocabulary, sequence, gated, experts: ModelShape(
        layers=layers, hidden=heads * width, heads=heads, kv_heads=max(heads // groups, 1), head_width=width,
        ffn=ffn, vocabulary=vocabulary, sequence=sequence, gated=gated,
        experts=Experts(count=experts * 4, active=experts, ffn=ffn, layers=layers) if experts else None,
    ),
    st.integers(1, 200), st.integers(1, 128), st.sampled_from([1, 2, 4, 8]), st.sampled_from([32, 64, 128]),
    st.integers(64, 100_000), st.integers(100, 300_000), st.integers(1, 1_000_000), st.booleans(),
    st.integers(0, 8),
)  # fmt: skip


@given(shapes)
def test_hardware_flops_are_never_less_than_the_models(shape: ModelShape) -> None:
    extra = [recomputed_flops(shape, recomputed) for recomputed in Recomputation]
    assert extra[0] == 0
    assert (
        0
        <= recomputed_flops(shape, Recomputation.ATTENTION)
        <= recomputed_flops(shape, Recomputation.LAYERS)
        <= forward_flops(shape)
    )
    for formula in FORMULAS.values():
        assert formula.per_token(shape, True) >= formula.per_token(shape, False) > 0


@given(shapes, st.sampled_from(["layers", "ffn", "vocabulary", "sequence"]))
def test_every_formula_grows_with_the_model(shape: ModelShape, what: str) -> None:
    larger = replace(shape, **{what: getattr(shape, what) + 1})
    for formula in FORMULAS.values():
        assert formula.per_token(larger, False) >= formula.per_token(shape, False)


@given(shapes)
def test_half_of_the_attention_is_never_more_than_all_of_it(shape: ModelShape) -> None:
    if shape.experts is None:
        assert FORMULAS["megatron-0.12"].per_token(shape, False) <= FORMULAS["megatron-0.11"].per_token(
            shape, False
        )
    assert FORMULAS["holter"].per_token(shape, False) <= FORMULAS["torchtitan"].per_token(shape, False)

"""The names that frameworks give the settings of a model's shape."""

from __future__ import annotations

# Each number with all its names: arguments of Megatron and NeMo, config.json of Hugging Face, nanoGPT,
# litgpt, torchtitan (llama's `ModelArgs`), OLMo, MPT, MaxText, llm.c. Earlier names win.
NAMES: dict[str, tuple[str, ...]] = {
    "layers": ("num_layers", "num_hidden_layers", "n_layers", "n_layer", "base_num_decoder_layers"),
    "hidden": ("hidden_size", "d_model", "n_embd", "dim", "base_emb_dim", "channels"),
    "heads": ("num_attention_heads", "n_heads", "n_head", "num_heads", "base_num_query_heads"),
    "kv_heads": (
        "num_key_value_heads",
        "n_kv_heads",
        "num_kv_heads",
        "n_query_groups",
        "kv_n_heads",
        "base_num_kv_heads",
    ),
    "head_width": ("head_dim", "kv_channels", "head_size"),
    "ffn": ("ffn_hidden_size", "intermediate_size", "n_inner", "ffn_dim", "mlp_hidden_size", "base_mlp_dim"),
    "vocabulary": (
        "padded_vocab_size",
        "embedding_size",
        "vocab_size",
        "meta_vocab_size",
    ),
    "sequence": (
        "seq_length",
        "seq_len",
        "sequence_length",
        "max_seq_len",
        "max_seq_length",
        "max_sequence_length",
        "block_size",
        "context_length",
        "cutoff_len",
        "sequence_len",
        "max_target_length",
    ),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts", "num_moe_experts", "n_expert"),
    "active": ("moe_router_topk", "num_experts_per_tok", "n_expert_per_token", "moe_top_k", "top_k"),
    "expert_ffn": ("moe_ffn_hidden_size", "moe_intermediate_size", "moe_inter_dim"),
    "shared": ("moe_shared_expert_intermediate_size", "shared_expert_intermediate_size"),
}
DESCRIPTIONS = {
    "layers": "how many layers",
    "hidden": "the width of the model",
    "heads": "how many attention heads",
    "ffn": "the width of the FFN",
    "vocabulary": "the size of the vocabulary",
    "sequence": "how long sequences are",
    "active": "how many experts a token visits",
}
"""The numbers in words, for messages about missing ones."""
GATED = frozenset(
    {
        "cohere", "cohere2", "deepseek_v2", "deepseek_v3", "exaone", "gemma", "gemma2", "gemma3",
        "gemma3_text", "glm4", "glm4_moe", "granite", "granitemoe", "internlm2", "llama", "llama4",
        "llama4_text", "minicpm", "mistral", "mixtral", "olmo", "olmo2", "olmo3", "olmoe", "phi3",
        "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "smollm3", "stablelm", "yi",
    }
)  # fmt: skip
"""Values of Hugging Face's `model_type` whose FFN is gated."""
NOT_GATED = frozenset(
    {
        "gpt2", "gpt_neox", "gpt_neo", "gptj", "opt", "bloom", "falcon", "mpt", "phi", "starcoder2",
        "gpt_bigcode", "codegen",
    }
)  # fmt: skip
"""Values of `model_type` whose FFN is not gated and whose layers have biases."""

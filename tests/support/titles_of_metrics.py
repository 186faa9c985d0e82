"""Titles of findings by their metrics, as the terminal and the pages must show them."""

from __future__ import annotations

TITLES_OF_METRICS = [
    ("divergence", "loss", "Loss divergence"),
    ("divergence", "value_loss", "Loss divergence"),
    ("divergence", "train/grad_norm", "Exploding gradients"),
    ("divergence", "objective/KL", "Exploding KL divergence"),
    ("divergence", "eval/loss", "Rising evaluation loss"),
    ("divergence", "train/val_loss", "Rising evaluation loss"),
    ("metric_collapse", "gradient norm", "Vanishing gradients"),
    ("metric_collapse", "train/accuracy", "Accuracy collapse"),
    ("metric_collapse", "rewards/accuracies", "Accuracy collapse"),
    ("metric_collapse", "rollout/ep_rew_mean", "Reward collapse"),
    ("metric_collapse", "completions/clipped_ratio", "Completions cut off"),
    ("metric_collapse", "response_length/mean", "Completions cut off"),
    ("metric_collapse", "actor/pg_clipfrac", "Policy updates clipped"),
    ("metric_collapse", "lr", "Zero learning rate"),
    ("metric_collapse", "top-1", "Collapsed metric"),
    ("throughput_regression", "tokens_per_sec", "Throughput regression"),
    ("throughput_regression", "eval_runtime", "Slow evaluations"),
    ("throughput_regression", "", "Throughput regression"),
]

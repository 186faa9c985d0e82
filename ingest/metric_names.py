"""Recognises names of metrics of training and evaluation, in several languages."""

from __future__ import annotations

import re

from holter.translated_words import in_english

_METRIC = re.compile(
    r"(?i)loss|\bl_[a-z]|ppl|perplex|rewards?(?![a-z])|(?<![a-z])rew(?![a-z])|return|acc|\blr\b|learning.?rate|g(?:rad)?.?norm|\brms\b|error"
    r"|\berr\b|cost|objective|nll|\bkl\b|entropy|\b[mr]?mse\b|\bmae\b|auc|(?<![a-z\d])f1(?![a-z\d])|\bm?ap\b|iou|mean.?iu\b|\bprec@|dice|bleu|\bepe\b"
    r"|psnr|ssim|fid|bp[bc]\b|elbo|logloss|score|rmse|recall|precision|\bhits?@|\bmrr\b|\bcer\b|\bwer\b|top.?[15]"
    r"|likelihood|mlm|mape|\br2\b|\bmcc\b|kappa|jaccard|sensitivity|specificity|hausdorff|\bhd95\b|lpips|rouge"
    r"|cider|meteor|pesq|stoi|\bsi-?s[dn]ri?\b|\bs[dn]ri?\b|mpjpe|pearson|spearman|\beer\b|\bl[12]\b|ndcg|\blearn\b|\b(?:sec|samples?|tokens?|images?)/\w"
)
_WEIGHT = re.compile(r"(?i)[ _.-](?:weights?|factor|coef(?:f|ficient)?|lambda)(?: \d+)?$")
"""How names of settings end that weight a metric: `qa_loss_factor`."""


def is_metric_name(name: str) -> bool:
    """Whether a name is that of a metric of training or evaluation, whatever is around it."""
    english = in_english(name)
    return _METRIC.search(english) is not None and _WEIGHT.search(english) is None

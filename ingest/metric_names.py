"""Recognises names of metrics of training and evaluation, in several languages."""

from __future__ import annotations

import re
from functools import lru_cache

from holter.translated_words import in_english

_METRIC = re.compile(
    r"(?i)loss|\bl_[a-z]|ppl|perplex|rewards?(?![a-z])|(?<![a-z])rew(?![a-z])|return|acc(?!ount|ess)|\blr\b|learning.?rate|g(?:rad)?.?norm|\brms\b|error"
    r"|\berr\b|cost|objective|nll|(?<![a-z\d])(?:kld?|bce)(?![a-z\d])|entropy|(?<![a-z\d])[mrn]?r?mse(?![a-z\d])|(?<![a-z\d])[rn]?mae(?![a-z\d])|auc|(?<![a-z\d])f1(?![a-z\d])|(?<![a-z\d])m?ap(?![a-z\d])|iou|mean.?iu\b|\bprec@|dice|bleu|chrf|(?<![a-z\d])epe(?![a-z\d])|(?<![a-z\d])(?:min_?)?[af]de(?![a-z\d])"
    r"|psnr|ssim|fid|bp[bcd]\b|elbo|logloss|score|rmse|recall|precision|\bhits?(?:@|_?\d{1,3}(?![a-z\d]))|(?<![a-z\d])(?:hr|[pr]|map|rank-?)@?(?<=[@k-])[1-9]\d{0,3}(?!\d)|(?<![a-z\d])mrr(?![a-z\d])|(?<![a-z\d])cer(?![a-z\d])|(?<![a-z\d])wer(?![a-z\d])|(?<![a-z])top[\W_]?\d"
    r"|\bbits?(?: per |/)(?:dim|char|byte|word|token)"
    r"|likelihood|mlm|mape|(?<![a-z\d])r(?:\^?2|²|[\s_-]?squared?)(?![a-z\d])|(?<![a-z\d])mcc(?![a-z\d])|kappa|jaccard|fitness|sensitivity|specificity|hausdorff|(?<![a-z\d])hd95(?![a-z\d])|lpips|rouge"
    r"|(?:^|(?<!clip)[\s.])grads?$|(?:^|(?<!clip)[\s_.])gradients?$"
    r"|corrcoef|correlation|cider|meteor|pesq|stoi|(?<![a-z\d])si-?s[dn]ri?(?![a-z\d])|(?<![a-z\d])s[dn]ri?(?![a-z\d])|mpjpe|pearson|spearman|(?<![a-z\d])eer(?![a-z\d])|\bl[12]\b|ndcg|(?:^|(?:mean|avg)[\s_])(?-i:R)$"
    r"|\b(?:win|success)[\s_-]?(?:rate|ratio)|silhouette|brier|deviance|abs.?rel|f-measure|(?<![a-z\d])nmi(?![a-z\d])"
    r"|aupr|auroc|crps|pinball|chamfer|rmsd|msle|c-?index|concordance|mean[\s_-]?rank"
    r"|\bhit[\s_-]?rat(?:e|io)|^hit(?: \d+)?$|(?<![a-z\d])(?:w[am]pe|mase|srcc|plcc|lddt)(?![a-z\d])"
    r"|exact[\s_]?match|bits[\s_]per[\s_](?:char|byte|dim|token)|min[\s_]?dcf|\b(?-i:[UL]AS|SARI|MCD|[DJLTU]ER)\b|(?:^|[\s_/])(?-i:EM)$"
    r"|\blearn\b|\b(?:sec|samples?|tokens?|images?)/\w|^[23]d$"
    r"|^(?:highest|lowest|best|final)[ _](?:train(?:ing)?|val(?:id(?:ation)?)?|test|dev)$"
)
_WEIGHT = re.compile(
    r"(?i)(?<!kappa)(?<!dice)(?<!jaccard)(?<!pearson)(?<!spearman)(?<!silhouette)(?<!correlation)"
    r"[ _.-](?:weights?|factor|coef(?:f|ficient)?|lambda)(?: \d+)?$"
)
"""How names of settings end that weight a metric: `qa_loss_factor`, but not `dice_coef`."""


@lru_cache(maxsize=8192)  # asked several times for each line
def is_metric_name(name: str) -> bool:
    """Whether a name is that of a metric of training or evaluation, whatever is around it."""
    english = in_english(name)
    return _METRIC.search(english) is not None and _WEIGHT.search(english) is None

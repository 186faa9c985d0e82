"""Numbers that are part of a name, and no values: `10-avg reward: 23`, `acc[0]: 0.5`, `Top 1-err 60`."""

from __future__ import annotations

from itertools import product

from holter.ingest.console.line.line_words import ROWS_AHEAD

_SIGN = r"\s?[:=]\s{0,4}[-+]?[$€£¥₹₽]?\.?\d"
_WORDS = r"[^\W\d][\w@%./+-]{0,30}(?: [^\W\d(][\w@%./+-]{0,20}){0,3}"
_BEGIN = r"(?:^|(?<=[,;|(\t{])|(?<=[,;|({>] )|(?<=  )|(?<=[\d)\]]: )|(?<=[\d%)\]] )|(?<= - ))"
"""Where a name may begin: at the beginning of a line, behind a separator or a number."""
_UNITS = (
    r"(?:[kKMGTB]i?B?|[mun]?s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|its?|x|e|ep|epochs?|steps?"
    r"|iters?|iterations?|batch(?:es)?|samples?|tokens?|toks?|images?|[a-zA-Z]?Hz|dB|m?eV|fps|FPS|[A-Z])"
)
_COUNTED = r"(?:mini-?)?(?:epoch|batch|iter|step|update|round)"
_TIMES = r"(?:m?s|secs?|its?|ep|x)[ -]"
"""What states how long something took, or how often it was done, before the name of the next number."""
_ERRORS = r"(?i:s?mape|r?mse|mae|acc|csi|corr)\w{0,10}"
"""What forecasts are measured by, at each horizon."""
AT_THRESHOLD = r"(?:[sS]uccess|[pP]recision|[rR]ecall|I[oO]U|[qQ]uantile)"
"""What is measured at the share before it, which is a threshold."""
_AT_BEGIN = (
    rf"\d{{1,4}}-(?!{_COUNTED}s?(?! [A-Za-z])){_WORDS}{_SIGN}",  # `10-avg reward: 23`, `5-step MSE: 0.5`
    rf"\d{{1,4}}(?:\.\d{{1,2}})?(?!{_UNITS}(?!\w))[^\W\d_]{{1,20}}{_SIGN}",  # `0.5PER: 99`
    rf"\d{{1,4}}D(?:(?: |-){_WORDS})?{_SIGN}",  # `3D loss: 0.1`, `3D=0.1`
    rf"\d{{1,4}}(?!{_TIMES})[a-z]{{1,4}}[ -]{_ERRORS}{_SIGN}",  # `24h MAE: 0.5`
    rf"\d{{1,4}}(?:st|nd|rd|th) (?!{_COUNTED}){_WORDS}{_SIGN}",  # `2nd order loss: 0.1`
    r"\d{1,4}(?:%|th) ?(?:quantile|percentile)",
    r"\d{1,4}[^\W\da-zA-Z_]{1,3}(?:平均|均|평균)",
    rf"0?\.\d{{1,2}} {AT_THRESHOLD}[^\d\n]{{0,30}}{_SIGN}",  # `0.2 Success ratio: 0.5`
)
"""Numbers with which a name begins."""

_LENGTHS = range(1, 13)
"""Of the names before an index."""
_INDEXED = "|".join(rf"(?<=[\s,|;]\w{{{length}}}[\[(])" for length in _LENGTHS)
_INDEXED_AHEAD = "".join(
    rf"(?<!^(?i:{word})[\[(])" for word in sorted({*ROWS_AHEAD, "rank", "gpu", "game"})
) + ("(?:" + "|".join(rf"(?<=^\w{{{length}}}[\[(])" for length in _LENGTHS) + ")")
"""The same at the beginning of a line, but for `fold[1]: 0.5`."""
_NO_INDEX = "".join(
    rf"(?<!{end}[\[(])" for end in ("och", "tep", "ter", "ion", "tch", "ode", "und", "ep", "EP", "Ep", "it")
)
_NO_PROGRESS = "".join(
    rf"(?<!{end} \()"
    for end in ("rain", "ning", "ress", "tion", "alid", "test", "done", "lete", "eted", "poch")
)
_CONDITIONS = "|".join(
    rf"(?<= {word} \w{{{length}}}{sign})"
    for word, length, sign in product(("with", "for", "at"), _LENGTHS, ("=", " = "))
)
_PARTS = ("critic", "actor", "generator", "discriminator", "decoder", "encoder", "head", "branch", "layer")
_BEHIND_PARTS = "|".join(rf"(?<=[{word[0]}{word[0].upper()}]{word[1:]} )" for word in _PARTS)
_BEHIND_AT = "|".join(
    f"(?<={end} at )"
    for end in ("recision", "ecall", "[hH]it", "[hH]its", "DCG", "dcg", "AP", "[mM]ap", "MRR", "mrr")
)
_RANKED_METRICS = (
    "recision", "ecall", "[hH]it", "[hH]its", "HITS", "DCG", "dcg", "AP", "[mM]ap", "MRR", "mrr", "HR", "hr",
    "F1", "f1", "[ (_-]P", "[ (_-]R", "^P", "^R", "[tT]op", "[pP]ass", "[rR]ank",
)  # fmt: skip
_BEHIND_SPACED_AT = "|".join(
    [rf"(?<={metric}{at})" for metric, at in product(_RANKED_METRICS, ("@ ", " @ ", " @"))]
    + [rf"(?<=[a-z\d]\){at})" for at in (" @ ", "@ ", " @", "@")]
)
_RANKED = [rf"@\d{{{first}}}/" for first in (1, 2)]
_RANKED += [rf"{first}\d{{{second}}}/" for first, second in product(_RANKED, (1, 2))]
_BEHIND_RANK = "|".join(rf"(?<={rank})" for rank in (*_RANKED, r"[A-Z]-\d/"))
_BEHIND_THRESHOLD = "|".join(
    rf"(?<={begin}{zero}\.\d{{{digits}}}:)"
    for begin, zero, digits in product(("@", r"@\[", r" \("), ("", "0"), (1, 2))
)

_FORMS = (
    # what is ahead is looked at first: it is there of few numbers, what is behind costs more
    rf"(?=\d{{0,4}}(?:\.\d{{1,2}})?(?:[^\W\d_]|[-%]| [sSpPrRIqQ])){_BEGIN}(?:{'|'.join(_AT_BEGIN)})",
    r"(?<!poch: )(?<!poch:)(?<!poch=)\d{1,4}_[A-Za-z]",  # but `Epoch: 3_Iter: 10`
    r"\d{1,2}[a-z]_[a-z]",
    # a layer: `Style loss 3_1: 0.5`, but `Epoch 3_20: 0.5`
    rf"(?=\d_\d{{1,2}}{_SIGN})(?<=[a-z] )(?<!poch )(?<!tep )(?<!ter )(?<!tion )(?<!ound )(?<!sode )",
    r"\d{1,3}(?:px ?[:=]|th percentile|[a-z]\]:)",
    r"(?<=[Tt]op )\d{1,2}-[A-Za-z]",
    rf"(?<=[Tt]op )\d{{1,2}} (?i:acc|err|prec)[a-z]{{0,9}}{_SIGN}",
    # how many values a mean is of: `avg 5 reward: 355.3`, `mean 100 episode reward: 20.5`
    r"(?:(?<=[aA]vg )|(?<=[mM]ean )|(?<=[vV]erage ))\d{1,4} (?:ep(?:isode)?s? )?"
    r"(?:reward|return|score|loss|acc|length)"
    rf"[a-z]{{0,9}}{_SIGN}",
    # which of several parts of a model a loss is of: `Critic 1 loss: 0.5`
    rf"(?:{_BEHIND_PARTS})\d{{1,2}} (?i:loss){_SIGN}",
    # the ranks that are looked at: `precision at 100: 0.8`
    rf"(?:{_BEHIND_AT})\d{{1,4}}{_SIGN}",
    # `Recall @ 10: 0.4`, `Hits (filtered) @ 1: 0.2`
    rf"(?=\d{{1,4}}{_SIGN})(?<=[@ ])(?:{_BEHIND_SPACED_AT})",
    r"(?<=[kl] on the )\d{2,6} (?:test|train|val)[a-z]{0,7} images",
    r"\d{1,3}-(?:way|shot)(?!\w)",  # `5-way 1-shot acc: 0.5`, `2-way-5-shot`
    rf"(?<=[lL]ast )\d{{1,4}} (?:avg|average|mean|max|min){_SIGN}",
    # a threshold, `Hits (0.5%): 8.7`, and no part of what is done, `Training (50%): 8.7`
    rf"(?=\d{{1,3}}(?:\.\d{{1,4}})?%\){_SIGN})(?<=[a-z] \(){_NO_PROGRESS}",
    rf"(?=\d?\.\d{{1,6}}\s?:\s{{0,4}}-?\d)(?:{_CONDITIONS})",  # `Accuracy with alpha = 0.1: 87.5`
    # a key of a dictionary: `iou: {0: 0.7, 1: 0.8}`, `'Dice, class 1': 0.5`
    r"(?=\d{1,4}(?:\.\d{1,4})?: [-\d])(?:(?<=\{)|(?<=, ))",
    r"(?<=[A-Za-z] )\d{1,4}['\"] ?:",
    # an index behind a name: `acc[0]: 0.5`, `avg(100): 2.5`, `Loss 1: 0.5`, `loss #1: 0.5`, `Stage 0 = 39.1`
    rf"(?=(?:\d{{1,2}}\]|\d{{1,4}}\)){_SIGN})(?:{_INDEXED}|{_INDEXED_AHEAD}){_NO_INDEX}",
    r"(?=\d{1,2}: [-\d])(?:(?<=[lL]oss )|(?<=[lL]oss #)|(?<=[aA]cc )|(?<=uracy )|(?<=[dD]ice )|(?<=[dD][cC] )"
    r"|(?<=[iI]o[uU] )|(?<=rror ))",
    r"(?=\d{1,2} = [-\d])(?<=[a-z] )(?<!poch )(?<!tep )(?<!atch )(?<!iter )(?<!tion )(?<!ound )(?<!sode )",
    # `Recall@1/5/10: 0.1/0.2/0.3`, `ROUGE-1/2/L: 38/16/35`
    rf"(?=\d{{1,3}}(?:/L|/\d{{1,3}}){{0,2}}{_SIGN})(?:{_BEHIND_RANK})",
    # thresholds: `mAP@0.5:0.95: 0.3`, `AP@[.5:.95]: 0.3`, `mAP50-95: 0.3`, `d<1.25: 0.9`, `TAR@FAR=0.1: 0`
    rf"(?=0?\.\d{{1,2}}[\])]?{_SIGN})(?:{_BEHIND_THRESHOLD})",
    rf"(?<=[A-Za-z] \()0?\.\d{{1,2}}:0?\.\d{{1,2}}\){_SIGN}",
    rf"(?=\d{{1,4}}\){_SIGN})(?<=[A-Za-z] \(k=)",  # `accuracy (k=5): 0.8`
    rf"(?<=@\[)0?\.\d{{1,2}}:0?\.\d{{1,2}}\]{_SIGN}",
    rf"(?<=\w[<>])\d?\.\d{{1,3}}(?:\^\d)?{_SIGN}",
    rf"(?<=@F[APR]R=)[\d.]{{1,6}}(?:e-\d)?{_SIGN}",
)
_AHEAD = (
    r"[\d.]++(?:[^\s\d.,|;}]"
    r"| (?:[:=]|test|train|val|avg|average|mean|max|min|re|score|[lL]oss|[aA]cc|[eE]rr|[pP]rec"
    r"|[sS]ucc|[rR]ec|I[oO]U|[qQ]uan|ep(?:isode)?s? (?:re|sc|le)))"
)
"""What is ahead of all these, and of few other numbers: it saves most of the time."""
NUMBER_OF_NAME = rf"(?={_AHEAD})(?:{'|'.join(_FORMS)})|95(?:(?<=[pP]50-95)|(?<=[pP]@50-95))"
"""Where a number is part of a name, as a pattern that begins right before the number."""

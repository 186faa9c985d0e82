"""Numbers that are part of a name, and no values: `10-avg reward: 23`, `acc[0]: 0.5`, `Top 1-err 60`."""

from __future__ import annotations

_SIGN = r"\s?[:=]\s{0,4}[-+]?[$€£]?\.?\d"
_WORDS = r"[^\W\d][\w@%./+-]{0,30}(?: [^\W\d(][\w@%./+-]{0,20}){0,3}"
_BEGIN = r"(?:^|(?<=[,;|(\t{])|(?<=[,;|({>] )|(?<=  )|(?<=\d: )|(?<=[\d%)\]] )|(?<= - ))"
"""Where a name may begin: at the beginning of a line, behind a separator or a number."""
_UNITS = (
    r"(?:[kKMGTB]i?B?|[mun]?s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|its?|x|e|ep|epochs?|steps?"
    r"|iters?|iterations?|batch(?:es)?|samples?|tokens?|toks?|images?|[a-zA-Z]?Hz|dB|m?eV|fps|FPS|[A-Z])"
)
_COUNTED = r"(?:mini-?)?(?:epoch|batch|iter|step|update|round)"
_LONGEST_INDEXED = 12
_INDEXED = "|".join(rf"(?<=[\s,|;]\w{{{length}}}[\[(])" for length in range(1, _LONGEST_INDEXED + 1))
_NO_INDEX = "".join(
    rf"(?<!{end}[\[(])" for end in ("och", "tep", "ter", "ion", "tch", "ode", "und", "ep", "EP", "Ep", "it")
)
_RANKS = [rf"@\d{{{first}}}/" for first in (1, 2)]
_RANKS += [rf"{first}\d{{{second}}}/" for first in _RANKS for second in (1, 2)]
_BEHIND_RANK = "|".join(rf"(?<={rank})" for rank in (*_RANKS, r"[A-Z]-\d/"))

_FORMS = (
    # behind the beginning of a name: `10-avg reward: 23`, `0.5PER: 99`, `3D loss: 0.1`, `2nd order loss: 0.1`
    rf"{_BEGIN}\d{{1,4}}(?:-(?!{_COUNTED}){_WORDS}{_SIGN}"
    rf"|(?:\.\d{{1,2}})?(?!{_UNITS}(?!\w))[^\W\d_]{{1,20}}{_SIGN}"
    rf"|D(?: |-){_WORDS}{_SIGN}"
    rf"|(?:st|nd|rd|th) (?!{_COUNTED}){_WORDS}{_SIGN}"
    rf"|(?:%|th) ?(?:quantile|percentile)"
    r"|[^\W\da-zA-Z_]{1,3}(?:平均|均|평균))",
    # `Recall@1/5/10: 0.1/0.2/0.3`, `ROUGE-1/2/L: 38/16/35`
    rf"(?:{_BEHIND_RANK})\d{{1,3}}(?:/L|/\d{{1,3}}){{0,2}}{_SIGN}",
    r"\d{1,4}_[A-Za-z]",
    r"\d{1,2}[a-z]_[a-z]",
    r"\d{1,3}(?:px ?[:=]|th percentile|[a-z]\]:)",
    r"(?<=[Tt]op )\d{1,2}-[A-Za-z]",
    # how many values a mean is of: `avg 5 reward: 355.3`
    r"(?:(?<=[aA]vg )|(?<=[mM]ean )|(?<=[vV]erage ))\d{1,4} (?:reward|return|score|loss|acc)"
    rf"[a-z]{{0,9}}{_SIGN}",
    r"(?<=[kl] on the )\d{2,6} (?:test|train|val)[a-z]{0,7} images",
    # a key of a dictionary: `iou: {0: 0.7, 1: 0.8}`, `'Dice, class 1': 0.5`
    r"(?:(?<=\{)|(?<=, ))\d{1,4}(?:\.\d{1,4})?: [-\d]",
    r"(?<=[A-Za-z] )\d{1,4}['\"] ?:",
    # an index behind a name: `acc[0]: 0.5`, `Loss 1: 0.5`, `loss #1: 0.5`, `Stage 0 = 39.1`
    rf"(?:{_INDEXED}){_NO_INDEX}\d{{1,2}}[\])]{_SIGN}",
    r"(?:(?<=[lL]oss )|(?<=[lL]oss #)|(?<=[aA]cc )|(?<=uracy )|(?<=[dD]ice )|(?<=[dD][cC] )|(?<=[iI]o[uU] )"
    r"|(?<=rror ))\d{1,2}: [-\d]",
    r"(?<=[a-z] )(?<!poch )(?<!tep )(?<!atch )(?<!iter )(?<!tion )(?<!ound )(?<!sode )\d{1,2} = [-\d]",
)
NUMBER_OF_NAME = "|".join(_FORMS)
"""Where a number is part of a name, as a pattern that begins right before the number."""

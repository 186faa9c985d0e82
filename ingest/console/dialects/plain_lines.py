"""Lines of any program that state a step or an epoch and named numbers, in any order and punctuation.

`Epoch [1/60] [10/445] Loss: 4.3`, `Iters: 10/20000 || Lr: 0.02 || Task Loss: 3.2`, `loss = 2.36, step = 1`,
`[Eval][Epoch 1][Iter: 0/25]loss: 6.9`, `step:25K smpl:26K loss:1.467`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.dialects import class_report, class_tables
from holter.ingest.console.dialects.cell_tables import SPLIT_ROWS
from holter.ingest.console.dialects.coco_summary import COCO_SUMMARY
from holter.ingest.console.dialects.copied_results import COPIED_RESULTS
from holter.ingest.console.dialects.evaluation_results import (
    EVALUATION_RESULTS,
    add_result,
    is_step_of_results,
)
from holter.ingest.console.dialects.framed_settings import FRAMED_SETTINGS
from holter.ingest.console.dialects.improvements import IMPROVEMENTS
from holter.ingest.console.dialects.kitti_results import KITTI_RESULTS
from holter.ingest.console.dialects.names_above import BELOW, METRICS_ALONE, NAMES_ABOVE
from holter.ingest.console.dialects.recurring_lines import RECURRING_LINES, or_recurring
from holter.ingest.console.dialects.score_tables import SCORE_TABLES
from holter.ingest.console.dialects.searched_parameters import FITS
from holter.ingest.console.dialects.set_rates import SET_RATES
from holter.ingest.console.dialects.stylegan_metrics import STYLEGAN_METRICS
from holter.ingest.console.dialects.trials import FINISHED_TRIAL, TRIALS
from holter.ingest.console.dialects.voc_results import VOC_RESULTS
from holter.ingest.console.headings.class_measures import CLASS_HEADINGS
from holter.ingest.console.headings.data_columns import COLUMN_HEADINGS, of_column
from holter.ingest.console.headings.evaluation_headings import EVALUATION_HEADINGS
from holter.ingest.console.headings.new_epoch_headings import NEW_EPOCH_HEADINGS
from holter.ingest.console.headings.qualified_names import with_values_again
from holter.ingest.console.headings.subjects_above import SUBJECT_HEADINGS
from holter.ingest.console.headings.training_sections import (
    FRAMED_SECTIONS,
    SECTION_LINES,
    SETTING_LINES,
    begin_section,
    note_setting,
)
from holter.ingest.console.layouts.line_layouts import LineLayout, layout_of
from holter.ingest.console.line.cached_shapes import shape_of, shape_of_line
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import ALL_DATA, DATA_SPLIT
from holter.ingest.console.line.number_names import OF_EPOCH
from holter.ingest.console.line.passed_lines import PassedLines
from holter.ingest.console.plain.leading_counts import or_counted
from holter.ingest.console.plain.metrics_of_epoch import parse_metrics_of_epoch
from holter.ingest.console.plain.plain_columns import PlainTable, describe_line
from holter.ingest.console.plain.plain_line import (
    axis_state,
    begin_launch,
    may_begin,
    note_best,
    parse_plain_line,
)
from holter.ingest.console.plain.result_blocks import parse_metric, parse_result
from holter.ingest.console.search.nested_keys import NESTED_KEYS
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.text.glued_lines import glued_records
from holter.ingest.console.text.line_ends import with_newlines
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.lines import line_around
from holter.ingest.metric_names import is_metric_name
from holter.ingest.printed_numbers import BEFORE_NUMBER
from holter.ingest.text_encoding import in_encodings, words_in_encodings
from holter.translated_words import COUNTERS, METRICS


class _RecordLines:
    """Finds the lines that the grammar reads, as a pattern would."""

    def finditer(self, string: bytes, /) -> Iterator[_RecordLine]:
        """Every line with a position and a metric."""
        end, text = 0, with_newlines(string)
        passed = PassedLines()
        for match in _POSITION.finditer(text):
            if match.start() >= end:  # else the same line again
                start, end = line_around(text, match.start(), match.end(), end)
                line = text[start : min(end, start + _LONGEST_LINE)]
                # JSON lines have a format of their own
                if line.startswith((b'{"', b'{ "')) or passed.has(line):
                    continue
                if _is_record(line):
                    yield _RecordLine(start, min(end, start + _LONGEST_LINE))
                else:
                    passed.add(line)
        for pattern in (_EPOCH_BLOCK, FINISHED_TRIAL):
            for match in pattern.finditer(string):
                yield _RecordLine(match.start(), match.end())
        yield from _blocks(text)

    def search(self, string: bytes, /) -> _RecordLine | None:
        """The first such line."""
        return next(self.finditer(string), None)


def _is_record(line: bytes) -> bool:
    try:
        return parse_plain_line(strip_prefixes(line).text, {}) is not None
    except ValueError:  # a step that is too large
        return False


class _RecordLine(NamedTuple):
    """A line as a match of a pattern."""

    first: int
    last: int

    def start(self) -> int:
        """The first byte of the line."""
        return self.first

    def end(self) -> int:
        """The byte after the line."""
        return self.last


_LONGEST_LINE = 16 * 1024


_COLOUR = rb"(?:\x1b\[[0-9;]{0,20}m){0,4}"
_SPACE = rb"(?:[ \t]|" + in_encodings("\u3000") + rb")"
_WIDE_SIGN = in_encodings("\uff1a", "\uff1d")
_SIGN = rb"(?:[=:#|-]|" + _WIDE_SIGN + rb")"
"""A sign between a name and its number, or that sign as wide as a letter."""
_OPENING = rb"(?:[\[({\"'#/]|" + in_encodings("\uff08", "\u3010") + rb"){0,2}"
_COUNTED = (
    rb"(?:epoch(?:es)?|iter(?:ation)?|step|batch|update|timestep|t_env|episode|\bgame\b|tick|round|progress|\bkimg|\bcount|\bit|\bep\.?|\bup\.|"
    + words_in_encodings(COUNTERS)
    + rb")"
)
_NUMBER_AHEAD = (
    rb"(?:\bthe |^[^\w\n]{0,20})\d{1,9}(?:st|nd|rd|th)? (?:training )?"
    rb"(?:epoch|iteration|iter|step|timesteps|batch|episode|round)(?: completed?| done| finished)?"
    rb"[^\w\n]{0,40}$"
)
"""A line that ends with what it counts behind its number: `this is the 3 epoch`."""
_WITH_ANOTHER = rb"\b(?:epoch|iteration|step) ?/ ?[a-z]{1,20}: {0,4}\d{1,9} ?/ ?\d[\d.]{0,12}[ \t\r]{0,8}$"
"""A line of nothing but what counts and another number: `Step / patience: 30 / 0`."""
_POSITION = LinearPattern(
    rb"(?im)"
    + _COUNTED
    + rb"s?(?:[ _](?:number|num|no\.?|idx|index|id|i))?(?:\(\w{1,12}\))?[\"'\]]?"
    + rb"%s%s{0,40}(?:%s{1,2}%s{0,8})?%s%s%s{0,8}\d"
    % (_COLOUR, _SPACE, _SIGN, _SPACE, _OPENING, _COLOUR, _SPACE)
    + rb"|(?:"
    + in_encodings("\u7b2c", "\uc81c")
    + rb") ?\d{1,9}(?: ?/ ?\d{1,9})? ?"
    + rb"(?:"
    + in_encodings("\u4e2a", "\u500b")
    + rb")? ?(?:epoch|step|batch|"  # what an ordinal number counts, in Chinese, Japanese or Korean
    + words_in_encodings(COUNTERS)
    + rb")"
    # `Current step is: 100`, `Average reward after 1000 timesteps: 1.2`
    rb"|\bcurrent (?:epoch|iteration|step|batch|episode) is:?[ \t]{1,4}\d"
    rb"|[a-z] after \d{1,9} (?:epoch|iteration|(?:time ?)?step|episode|update)s?: {1,4}[-+]?\d"
    # `('epoch: ', 3, 'loss', 1.2)`, `epoch_3: loss=1.2`
    rb"|^[^\n,=|]{0,60}\bgeneration[: #]{1,3}\d{1,6}(?:[^\d.]|$)"
    rb"|^[^\n\w]{0,20}gen #?\d{1,6}(?:/\d{1,6})?(?: ?[:|(\[-]|,? [a-z])"
    rb"|^[ \t]{0,8}(?:epoch|episode|iteration|step) \* \d{1,9} \* [a-z]"
    rb"|(?:^|[\] ])e[= ]\d{1,9},? b[= ]\d{1,9}[\t ]"
    rb"|(?:epoch|step|iter(?:ation)?|round)[\t :=#(\[]{1,3}init(?:ial)?[\])\t ,;:|]"
    rb"|[a-z] after \d{1,9} (?:epoch|iter(?:ation)?|step|episode|round|update)s? ?[:=]"
    rb"|^run \[\d{1,9}\]:|\(['\"](?:epoch|iter(?:ation)?|step|episode)[: ]{0,3}['\"], {0,2}\d"
    rb"|\bcycle[:# \[]{1,3}\d{1,6} ?/ ?\d"
    rb"|\bepoch\.\d{1,6}[ :,\])|]|\bepoch_\d{1,6}:|\b(?:step|iter)_\d{1,9}: {0,4}[a-z]"
    rb"|(?:" + ALL_DATA.encode() + rb")[ _]loss \[\d{1,9}\](?::| =) [-+]?\d"
    rb"|^[ \t]{0,8}(?:after )?\d{1,9} (?:epoch|iteration|iter|(?:global[_ ])?step|episode|round)s?[ ,:|-]"
    rb"|^(?:[^\n]{0,60}[\])>:-] )?the \d{1,9} commun[a-z]{0,3}ation [a-z]"
    rb"|\d(?:st|nd|rd|th) (?:epoch|iteration|step|(?:mini-?)?batch)|"
    + _NUMBER_AHEAD
    + rb"|"
    + _WITH_ANOTHER
    + rb"|\d(?:epoch|batch)(?:es)?(?::| results)|\[\d{1,9}\]\t|\d:\tlearn: |/[ \t]{0,8}\d{1,9} batches \|"
    rb"|(?:^|\] )\[\d{1,9}\] [a-z_]\w{0,60}[=: ]"
    rb"|(?:train|test|eval|val(?:id)?)(?:[ _]ema| \(ema\))?: {1,4}"
    rb"(?:\d{1,9}(?:/\d{1,9} {0,4}\( {0,4}\d{1,3}%\))? )?"
    rb"\[ {0,8}\d{1,9}(?:/|\] {0,4}\[ {0,8}\d{1,9}/)"
    rb"|(?:test|eval(?:uated)?|val(?:id)?) {1,4}\d{1,9}/\d"
    rb"|(?:^|[\]|] )[ \t]{0,8}(?:train|test|eval|val(?:id)?)[a-z]{0,7}:? {1,4}\d{1,9}/\d{1,9}[^\n]{0,3} [a-z]"
    # `Model fine-tuning 2 / 10, Loss: 0.5`
    rb"|^[ \t]{0,8}(?:[a-z][\w-]{0,20} ){0,2}(?:pre-?train|fine-?tun|warm-?up)(?:e|ing)? {1,4}"
    rb"\d{1,9} ?/ ?\d{1,9}[,:|]? {1,4}[a-z]"
    rb"|(?:train|test|eval|val(?:id)?) \(\d{1,9}/\d{1,9}\) |\]\(\d{1,9}/\d{1,9}\) [a-z]"
    rb"|\[(?:train(?:ing)?|test|eval|val(?:id)?) {1,4}\d{1,9}(?:/\d{1,9}|[km])\]"
    rb"|^\d{1,9}/\d{1,9} \( {0,8}[\d.]{1,8}%\) [a-z]"
    rb"|\d{1,9}/\d{1,9}\] ?\[ {0,8}\d{1,9}/\d|^\d{1,9} \[[a-z]\w{0,20} ?\w{0,20}: "
    # `10/445, loss: 0.5`, `INFO 0/2 MIL Loss: 0.7`, `1  10 / 445 loss = 0.5`
    rb"|(?:^|(?:info|debug|[\])|:-]) )[ \t]{0,8}(?:\d{1,9} {1,8})?\d{1,9} ?/ {0,8}\d{1,9}[,:]? {1,8}[a-z]"
    # ` 72  100 /  320 loss = 0.15`
    rb"|^ {0,8}\d{1,9} {1,8}\d{1,9} ?/ {0,8}\d{1,9} {1,8}[a-z_][\w./@-]{0,60} ?[=:]"
    rb"|^ {0,8}\d{1,9}/\d{1,9}: ?\|[=#>. |-]{2,120}[a-z]"  # a bar of the epoch behind it
    # `[1,  200] loss: 2`, `[1: 20/100] loss: 2`, `[1 :  20] loss: 2`, `[10 | 12.3] loss=2`, `[10/50] [L1: 2`
    rb"|\[ {0,8}\d{1,9} (?:eps?|episodes?|steps?|iters?|updates?)\] "
    rb"|\[ {0,8}\d{1,9}"
    rb"(?:(?:, {0,12}| : {1,12})\d{1,9}(?:/ {0,8}\d{1,9})?| \| [\d.]{1,12}"
    rb"|(?:: {1,4}\d{1,9})? {0,2}/ {0,8}\d{1,9}"
    rb"(?: {1,4}\( {0,4}[\d.]{1,6} ?%\))?)\]"
    rb"[:,|]?[ \t]{1,8}(?:- |\x1b\[\d{1,3}m|#\d{1,9} |\d{1,3}(?:\.\d)?%[ \t]{1,8})?\[?(?:\d{1,3}-)?"
    rb"[a-z_\xe3-\xed]"
    rb"|^\( {0,8}\d{1,9}/ {0,8}\d{1,9}\)[:,]? {1,8}[a-z_]|^\d{1,5} \[ {0,8}\d{1,9}/"
    rb"|(?:^|[\]|] ) {0,3}\d{1,9}/\d{1,9} {1,4}[|,:-]{1,2} {0,4}[a-z]"
    # with commas between thousands: `[10,000/50,000] loss: 0.5`
    rb"|\[ {0,8}\d{1,3}(?:,\d{3}){1,3} ?/ ?\d{1,3}(?:,\d{3}){1,3}\]:? {1,8}[a-z_]"
    rb"|\d% {1,4}\d{1,9}/\d{1,9} {1,4}[|,:-]"
    rb"|^(?:train|test|eval|val(?:id)?) {1,8}\d{1,9}, [a-z]"
    rb"|(?:^| - ) {0,12}\d{1,9} - {1,12}[\d.]{1,12} \w{1,20}/s"
    rb"|\d% {1,4}\d{1,9}/\d{1,9} {1,4}[|\[(,-]"
    rb"|(?:^| )e\d{1,6} {1,8}(?:trn|train|val|test)|^e\d{1,6}(?:: | {1,4}\| | {1,4}[a-z][\w/.-]{0,30}[=:])"
    rb"|^[ \t]{0,8}tokens?(?: |: ?|=)\d{1,9}(?:\.\d{1,6})?[kmbt]?[ ,|]{1,4}[a-z]"
    rb"|(?:^|[ \[(|])ep?\d{1,6}/\d{1,6}[ :,\])|]|(?:^|[ |(])\[ep?\d{1,6}\] "
    rb"|\) \d{1,9}/\d{1,9} {0,4}$|\[ {0,8}\d{1,9}/ {0,8}\d{1,9}\] {0,4}$"
)
_DATA_ALONE = (
    rb"(?:^|\b(?:info|debug)\]?:? (?:[-|:] )?)(?:train(?:ing)?|val(?:id(?:ation)?)?|test|dev)"
    rb"[ \t]{0,4}[:=\t][ \t]{0,4}"
    rb"-?\d{1,9}\.\d[\de+-]{0,20}[ \t\r]{0,4}$"
    rb"|^[ \t]{0,8}(?:highest|lowest|best|final) (?:train|val(?:id(?:ation)?)?|test): {1,4}\d{1,9}\.\d"
)
"""A line of nothing but the data and a number, a loss: `Validation: 1.77`, `Highest Valid: 71.2`."""
_TRAIN_AND_NUMBER = rb"^[('\" \t]{0,8}train(?:ing)?[' ,:]{1,6}\d{1,9}\.\d{1,20}"
_ALL_DATA = _TRAIN_AND_NUMBER + rb"[' ,|]{1,6}val(?:id(?:ation)?)?[' ,:]{1,6}\d{1,9}\.\d"
"""A line of the numbers of all data: `('Train ', 0.11, 'Valid ', 0.12, 'Test ', 0.13)`."""
_METRIC_ALONE = LinearPattern(
    rb"(?im)"
    + _DATA_ALONE
    + rb"|"
    + _ALL_DATA
    # ranks within a name: `Accuracy of top-[1,3,5] neighbours is 61.7, 72.4, 80.5`
    + rb"|[a-z]-\[\d{1,4}(?:, ?\d{1,4}){1,15}\](?: [a-z][\w-]{0,20}){0,8}(?: is| ?[:=]) {0,4}\[?[-+]?\.?\d"
    + rb"|(?:loss|acc(?:uracy)?|\blr|dice|iou|mean_?iu|learning rate|ppl|psnr|ssim|auc|f1|bleu|chrf(?:\+\+)?"
    rb"|perplexity|(?:acc|prec|top|hits?|ndcg|rank)[@-]?\d{1,4}|\b[pr]@\d{1,4}|\bkl(?:d|_?div)?|\bbce|r?mse|mae"
    rb"|reward|return|fitness|score|si-?s[dn]ri?|s[dn]ri?|s?mape|r(?:\^?2|\xc2?\xb2|[\s_-]?squared?)|mcc|kappa|jaccard|sensitivity|specificity|hd95|rouge|pearson"
    rb"|spearman"
    rb"|cider|meteor|epe|fid(?:\d{1,3}k)?|lpips|m?ap|elbo|nll|pesq|e?stoi|mrr|bp[bcd]|mpjpe|eer"
    rb"|bits per [a-z]{3,9}"
    rb"|recall(?:@\d{1,4})?|precision(?:@\d{1,4})?|[wc]er|"
    + words_in_encodings(METRICS)
    + rb")(?:"
    + in_encodings("\u4e3a")
    + rb")?(?: ?\([^()\d\n]{0,40}\)| (?:over|of)(?: the)?(?: last)? \d{1,9}(?: [a-z]{1,12}){1,2})?"
    + rb"(?:[_@/.-][\w@/.-]{0,40}|\d{1,2}(?:-\d{1,2})?"
    + rb"| (?:coeff?(?:icient)?|score|index|similarity|per [a-z]{1,20})|"
    + OF_EPOCH.encode()
    + rb"|\[\d{1,3}[a-z]\]| ?[\[{][a-z]{2,12}[\]}])?"
    + rb"[\"']?(?: \.{4,80})?"
    # `Loss -> Train: 0.5, Val: 0.6`
    + rb"(?: {0,2}(?:(?:"
    + in_encodings("→")
    + rb"|[-=]>|[:|-]) {0,2})?(?:train(?:ing)?|val(?:id(?:ation)?)?|test)\b)?"
    + _COLOUR
    + _SPACE
    + rb"{0,12}(?::[:=]|[:= ,|\t](?:\*\*)?|"
    + _WIDE_SIGN
    + rb")"
    + _COLOUR
    + _SPACE
    + rb"{0,4}(?:(?:is|was):? {1,8}|[-=]{1,3}> {0,8}|- )?[\[\](]{0,2}[\"']?"
    + BEFORE_NUMBER
    + rb"[-+]?(?:\.?\d|nan|inf)"
    # `Recall @ 10: 0.4`, `Hits (filtered) @ 1: 0.2`
    rb"|(?:[a-z]|\)) ?@ ?\d{1,4} ?[:=] {0,4}\d{0,9}\.?\d"
    rb"|(?:loss|reward|return|fitness|score|accuracy)\) {0,4}[:=] {0,4}[-+]?\d"  # `max(fitness): 0.3`
    # `trainLoss0.5`, `val_acc0.9`
    rb"|[a-z_](?:loss|acc(?:uracy)?|perplexity|error|reward|score)\d{1,9}\.\d{1,20}(?:[ \t\r,;:|)\]]|$)"
    # `0.91 = Validation score (accuracy)`
    rb"|^[ \t]{0,20}-?\d{1,9}\.\d{1,20}%?[ \t]{0,4}= {1,4}[a-z][^\n=\d]{0,60}"
    rb"(?:loss|acc|score|error|auc|\bap\b)"
    rb"|^[ \t]{0,20}-?\d{1,9}\.\d{1,20}%?[ \t]{0,4}= {1,4}(?:loss|acc|score|error|auc)"
    # `Test Accuracies: All 0.33 | Old 0.41`
    rb"|(?:accuracies|losses|scores): {1,4}[a-z]\w{0,20} {1,4}\d{1,9}\.\d"
    rb"|^[ \t]{0,8}got \d{1,9} ?/ ?\d{1,9} correct \("
    # `Evaluation over 10 episodes: -64.5`, `eval over 10 eps: mean R 12.5`, `Eval: R 12.5`
    rb"|\b(?:eval(?:uation)?|test(?:ing)?) (?:over|of|on) \d{1,9} (?:eps?|episodes|games|rollouts|trials):"
    rb" {1,4}[-+]?[\da-z]"
    rb"|\b(?:eval(?:uation)?|test(?:ing)?)[\]:]{0,2} {1,4}(?:(?:mean|avg)[ _])?r[ :=]{1,2}[-+]?\d"
    rb"|(?:accuracy|\bacc|loss|error|precision|recall|(?:iou|dice|f1|auc)(?:[ -]score)?)"
    rb" (?:of|on|for)[ \w]{1,60}(?::[ \w]{1,30})?"
    rb"(?: is| ?[:=])[ \t]{1,8}\d"
    # `word error rate 8.7 %`, `test error of best model 8.7 %`, `mean squared error of 0.5`
    rb"|^[ \t>*-]{0,20}(?:[a-z][\w-]{0,20} ){0,4}(?:accuracy|loss|error|precision|recall|reward)"
    rb"(?:(?: rate)?(?: (?:of|on|for)[ \w]{1,60})? {1,4}\d{1,3}(?:\.\d{1,12})? ?%"
    rb"| of {1,4}-?\d{1,9}\.\d{1,12}\.?)[ \t\r]{0,8}$"
    rb"|\(['\"][^'\"\n]{0,40}(?:loss|acc(?:uracy)?|error|auc|iou|dice|psnr|reward|score)\w{0,20}"
    rb"[:= ]{0,3}['\"], {0,2}['\"]?\[?" + BEFORE_NUMBER + rb"-?\d"
    rb"|(?:metrics|results?|scores?)[ )\]]{0,4}[:=] {0,4}\{['\"][\w @./-]{1,40}['\"]: {0,4}[-+]?\d"
    # ` * ADE 1.2 FDE 2.4`
    rb"|^(?:[^\n]{0,60}[\]>|:-] )?[ \t]{0,8}\* {1,4}[a-z][\w@/.-]{0,30}[ :=\t]{1,4}\d{1,9}\.\d{1,12}[ \t,|%]"
)
_NUMBER_ALONE = LinearPattern(
    rb"(?m)^[ \t|>*{'\"-]{0,80}(?:[A-Za-z]|[\xe3-\xed][\x80-\xbf]{2})[\w ./()@\x80-\xbf\xe3-\xed-]{0,80}"
    rb"(?:['\"]| ?= ?\d?\.\d{1,6})?:(?:\*\*|[:=])?[ \t]{0,20}[-+]?\d[\d.]{0,20}"
    rb"(?:[eE][-+]?\d{1,3})?[^\n:=]{0,20}$"
    # `Agent SUCCESS Rate 0.04`, `success -> 0.9`
    rb"|^[ \t>*-]{0,20}(?:[A-Z][A-Za-z_-]{1,30} ){1,4}-?\d{1,9}\.\d{1,20}[ \t\r]{0,8}$"
    rb"|^[ \t>*-]{0,20}[A-Za-z][\w -]{0,40} [-=]> {0,8}-?\d{1,9}\.\d{1,20}[ \t\r]{0,8}$"
    # `eval_success_mean=0.0`
    rb"|^[ \t>*-]{0,20}[A-Za-z][\w ./@-]{0,80}= {0,4}-?\d{1,9}\.\d{1,20}(?:[eE][-+]?\d{1,3})?%?[ \t\r]{0,8}$"
)
_LOSS_ALONE = LinearPattern(
    rb"(?im)"
    + _DATA_ALONE
    + rb"|(?:loss|reward|return|\bacc|accuracy|fitness|\br?mse|\bs?mape|\bmae|psnr|ssim|dice|\bm?iou|\bauc"
    rb"|\bf1|bleu|perplexity|\bppl)[\"')]?"
    rb"(?: (?:of|on|for|over|per)[ \w]{1,40})?[ \t]{0,12}(?:[:=\t](?:\*\*)?|is\b:?|\xe2\x94[\x82\x83])"
    rb"[ \t]{0,20}[-+]?\d"
    # `mean/median reward 1.2/0.9`
    + rb"|[a-z]/[a-z]{1,20} (?:loss|reward|return|accuracy) [-+]?\d{1,12}\.\d{1,12}/"
    + rb"|\xe2\x94[\x82\x83] (?:train|val|test)[a-z]{0,7}[ \t]{0,12}\xe2\x94[\x82\x83][ \t]{0,20}\d"
)
_EPOCH = re.compile(rb"(?i)\bepoch:? ?\[?\d{1,9}")
_EPOCH_BLOCK = re.compile(
    rb"(?i)(?<!best )\bepoch:? ?\[?\d{1,9}(?: ?/ ?\d{1,9})?\]?:?[ \t.=-]{0,80}\r?\n(?:[^\n]{0,300}\n){0,4}?"
    rb"[^\n]{0,80}?(?:train(?:ing)?|val|valid|validation)[_ ]loss[ \t]{0,4}[:= ][ \t]{0,4}[-+]?\d"
)
_LINE_DRAWN = in_encodings("─", "═", "━")
_HEADING = LinearPattern(
    rb"(?im)^(?:[^\n]{0,60}[\]>:|-] )?[ \t>*-]{0,80}(?:\x1b\[\d{1,3}m)?[ \t]{0,4}(?:learning |training )?"
    rb"(?:epoch|iteration|step|generation|round(?: number)?|num timesteps|timestep)[: \t#]{1,12}"
    rb"\d{1,9}(?:/\d{1,9})?"
    rb"(?:[^\w\n]{0,80}$| per-step time)"
    rb"|" + _WITH_ANOTHER + rb"|" + _NUMBER_AHEAD + rb"|^run \[\d{1,9}\]:[ \t\r]{0,8}$"
    # `Updates 3, num timesteps 6400, FPS 81`
    # `batch i:1, episode_len:28`
    rb"|^(?:[^\n]{0,60}[\]>:|,-] )?(?:batch|step|iteration|epoch) i ?[:=] ?\d{1,9},? {1,4}[a-z_]{1,30} ?[:=]"
    rb" {0,4}\d{1,9}(?:\.\d{1,6})?[ \t\r]{0,8}$"
    rb"|^[ \t]{0,8}(?:[\w/]{1,40} )?updates? \d{1,9}(?:, [a-z][a-z ]{0,30} \d{1,12}(?:\.\d{1,6})?){1,4}"
    rb"[ \t\r]{0,8}$"
    rb"|^[ \t]{0,8}(?:[=*#~-]{3,80}|(?:"
    + _LINE_DRAWN
    + rb"){3,80}) [^\n]{0,60}?\b(?:epoch|iteration|step|batch|generation)[: #]{1,12}"
    rb"\d{1,9}\b[^\n]{0,60}?(?:[=*#~-]{3,80}|(?:" + _LINE_DRAWN + rb"){3,80})"
    rb"[ \r]{0,8}$"
)
_BLOCK_LINES = 24
"""Lines below a heading of which one has a metric."""


def _blocks(text: bytes) -> Iterator[_RecordLine]:
    """The headings of blocks: lines of a name and a number each, at the step of the heading."""
    for heading in _HEADING.finditer(text):
        end = heading.end()
        for _ in range(_BLOCK_LINES):
            begin, end = end, text.find(b"\n", end + 1)
            line = text[begin : end if end >= 0 else len(text)]
            below = text[begin : text.find(b"\n", end + 1)] if line.rstrip()[-1:] == b":" else b""
            if _LOSS_ALONE.search(line) is not None or BELOW.search(below) is not None:
                yield _RecordLine(heading.start(), begin + len(line))
                break
            if end < 0:
                break


class _PlainColumns:
    """Parses lines that differ in their numbers alone in columns."""

    table = PlainTable

    def layout_of(self, line: bytes) -> LineLayout | None:
        """The layout of a line, None if it has no position or may be read in another way."""
        return layout_of(line, describe_line, lambda line: _POSITION.search(line) is not None)


LINES = LineKind(
    pattern=_POSITION,
    parse=parse_plain_line,
    columns=_PlainColumns(),
    any_program=True,
    begin_launch=begin_launch,
    may_begin=may_begin,
)
"""Lines with a position and named numbers, in any text."""


def _line_of_own_text(line: str, state: DialectState) -> LineResult:
    """The numbers of a line with a position; those at the step above if nothing in it is one after all."""
    records = glued_records(line)
    if len(records) > 1:
        results = [parse_plain_line(record, state) for record in records]
        several = (each if isinstance(each, list) else [each] for each in results if each is not None)
        return [values for each in several for values in each]
    if is_step_of_results(line, state):
        return add_result(line, state)
    found = parse_plain_line(line, state)
    if isinstance(found, LineValues):
        return of_column(found, line, axis_state(state))
    if found is not None:
        return found
    shape = shape_of_line(split_numbers(line))
    if shape.counters or not shape.metrics:
        return None
    if not _has_metric(shape):
        return _named_number(line, state)
    return with_values_again(parse_metrics_of_epoch(line, state), axis_state(state))


OWN_LINES = replace(LINES, parse=_line_of_own_text)
"""The same in texts that no framework prints: other lines with metrics belong to the program, too."""


def _setting(line: str, state: DialectState) -> LineResult:
    """Note a setting that may tell the next training apart; a rate is a metric, too."""
    if "results" in state:  # a list of results with settings among them
        return add_result(line, state)
    note_setting(line, state)
    return parse_metric(line, state)


SETTINGS_ALONE = LineKind(pattern=SETTING_LINES, parse=_setting, any_program=True, in_blocks=True)
"""Lines of nothing but a setting."""

EPOCH_LINES = LineKind(pattern=_METRIC_ALONE, parse=parse_metric, any_program=True, in_blocks=True)
"""Lines of metrics below the line of their epoch; beside a framework's lines they would be anybody's."""

BLOCK_LINES = LineKind(pattern=_NUMBER_ALONE, parse=parse_result, any_program=True, in_blocks=True)
"""Lines of a name and a number below a heading, or next to a known metric."""


_NAMES_ALONE = (or_recurring(BLOCK_LINES), RECURRING_LINES)


def _named_number(line: str, state: DialectState) -> LineResult:
    """The number of a line whose name ends with what counts, as those of other names: `time_epoch: 3.8`."""
    text = line.encode()
    kind = next((kind for kind in _NAMES_ALONE if kind.pattern.search(text) is not None), None)
    return None if kind is None else kind.parse(line, state)


def _section(line: str, state: DialectState) -> LineResult:
    """Note the training that a heading names; read other lines that begin like one: `Fold 1, epoch 2: `."""
    if begin_section(line, state):
        return None
    found = parse_plain_line(line, state)
    if found is None and _has_metric(shape_of(tuple(split_numbers(line)[::2]))):
        return with_values_again(parse_metrics_of_epoch(line, state), axis_state(state))
    return found


def _has_metric(shape: LineShape) -> bool:
    """Whether a line has a metric that is no setting, or that of an evaluation, or is one of several rows."""
    names = [field.name for field in shape.metrics]
    if shape.split and names and DATA_SPLIT.fullmatch(names[0]) is not None:
        return True  # `Evaluation over 10 episodes: 64.5`
    return shape.row is not None or any(is_metric_name(name) and not is_setting(name) for name in names)


SECTIONS = LineKind(pattern=SECTION_LINES, parse=_section, any_program=True, names_training=True)
"""Lines that name the training below them."""


def _row_of_class(line: str, state: DialectState) -> LineResult:
    """The scores of a row of a table or a report of classes; the numbers of any other line."""
    return (
        class_tables.parse_row(line, state)
        or class_report.parse_row(line, state)
        or _line_of_own_text(line, state)
    )


def _fold_and_epoch(line: str, state: DialectState) -> LineResult:
    """A line that begins with its fold and epoch, `01/003: Val Loss: 1.1`, or with a count and its total.

    Behind one that ends with `001` or `000`, which is no total, the second number is an epoch.
    """
    match = _FOLD_AND_EPOCH.match(line)
    axis = axis_state(state)
    if match is not None and match["epoch"] in ("000", "001"):
        axis["counts folds"] = True
    if match is None or "counts folds" not in axis:
        return _line_of_own_text(line, state)
    return _line_of_own_text(f"fold {match['fold']} epoch {match['epoch']}: {line[match.end() :]}", state)


_FOLD_AND_EPOCH = re.compile(r"(?P<fold>\d\d)/(?P<epoch>\d{3}): (?=[A-Za-z])")
FOLDS_AND_EPOCHS = LineKind(
    pattern=LinearPattern(rb"(?m)^\d\d/\d{3}: [A-Za-z]"), parse=_fold_and_epoch, any_program=True
)
"""Lines with numbers of two and three digits before them, which may be a fold and its epoch."""

CLASS_ROWS = LineKind(pattern=class_tables.ROW, parse=_row_of_class, any_program=True, in_blocks=True)
"""Lines of a name and several numbers, in texts that no framework prints."""

BEST_BELOW = LineKind(
    pattern=LinearPattern(rb"(?im)\bbest iteration(?: is)?:[ \t\r]{0,8}$"), parse=note_best, any_program=True
)
"""Lines of LightGBM and XGBoost above one that repeats the best iteration."""


def _no_record(line: str, state: DialectState) -> None:
    """Nothing: no line of these is a record, whatever is in it."""


PROGRAM_CODE = LineKind(
    pattern=LinearPattern(
        rb"(?m)^[ \t]{0,40}(?:async )?(?:def \w{1,80}\([^\n]{0,200}|class \w{1,80}\([^\n]{0,200}\)):"
        rb"[ \t\r]{0,8}(?:(?:\n[ \t\r]*){0,3}\n[ \t]+[^\s][^\n]*){1,40}$"
        # the place of an error, with the line of the program there
        rb"|^[ \t]{0,8}File \"[^\"\n]{1,400}\", line \d{1,6}(?:, in [^\n]{1,200})?\n[ \t]+[^\n]*$"
        # a function of C++ and the arguments of its template: `T ns::f(T) [with T = float; int N = 3]`
        rb"|::[~\w]{1,100}\([^\n]*\)(?: const)?(?: &{1,2})? \[(?:with )?"
        rb"(?:(?:unsigned )?\w{1,40} )?\w{1,60} = [^\n]*$"
    ),
    parse=_no_record,
    any_program=True,
)
"""Lines of a program that a text quotes: `def f(x):` and what is indented below it, lines of tracebacks.

So are functions that a compiler names with the arguments of their templates, in the text of a profiler.
"""

_MORE_SPECIAL = (
    BEST_BELOW,
    *COCO_SUMMARY,
    *KITTI_RESULTS,
    FITS,
    STYLEGAN_METRICS,
    VOC_RESULTS,
    COPIED_RESULTS,
    *TRIALS,
    *SPLIT_ROWS,
    class_report.ROW,
    *SCORE_TABLES,
    SECTIONS,
)
"""Kinds of lines that are tried before those with a position."""
DIALECT = ConsoleDialect(
    name="key-value",
    signature=_RecordLines(),
    min_matches=2,
    kinds=(class_report.HEADING, *_MORE_SPECIAL, LINES),
)
_WITHOUT_POSITION = (SETTINGS_ALONE, *EVALUATION_RESULTS, EPOCH_LINES, BLOCK_LINES)
_OWN_KINDS = (
    PROGRAM_CODE,
    class_report.HEADING,
    class_tables.BEGIN,
    or_recurring(CLASS_ROWS),
    CLASS_HEADINGS,
    METRICS_ALONE,
    IMPROVEMENTS,
    *(replace(kind, parse=_row_of_class) if kind is class_report.ROW else kind for kind in _MORE_SPECIAL),
    FOLDS_AND_EPOCHS,
    OWN_LINES,
)
_OWN_LINES = replace(DIALECT, kinds=_OWN_KINDS).followed_by(
    ConsoleDialect(
        name="epochs",
        signature=_EPOCH,
        kinds=(
            NESTED_KEYS,
            SET_RATES,
            *NAMES_ABOVE,
            FRAMED_SETTINGS,
            *(or_counted(or_recurring(kind), _line_of_own_text) for kind in _WITHOUT_POSITION),
            COLUMN_HEADINGS,
            EVALUATION_HEADINGS,
            NEW_EPOCH_HEADINGS,
            FRAMED_SECTIONS,
            SUBJECT_HEADINGS,
            or_recurring(class_tables.VALUE_ROW),
            RECURRING_LINES,
        ),
    )
)
OWN_TEXT = replace(
    _OWN_LINES,
    kinds=tuple(replace(kind, may_be_above=kind is not PROGRAM_CODE) for kind in _OWN_LINES.kinds),
)
"""The dialect in texts that no framework prints."""

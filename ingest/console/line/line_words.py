"""Words around the numbers of a line: what counts, what qualifies a counter, and what is no metric."""

import re

from holter.roles import EVALUATION_WORDS

SUFFIXES_OF_FILES = (
    r"ckpt|pth?|pt|h5|hdf5|keras|bin|safetensors|onnx|pkl|npy|npz|tar|json|params|pdparams"
    r"|jpe?g|png|bmp|tiff?|gif|webp|JPE?G|PNG|wav|flac|mp3|mp4|avi|nii(?:\.gz)?|dcm|txt|csv|xml|tfrecords?"
)
"""How the names of files of models and of data end, as a pattern."""
LEVELS = frozenset({"INFO", "DEBUG", "WARNING", "WARN", "ERROR", "NOTICE"})
GLOBAL = frozenset(
    {
        "global step",
        "global steps",
        "total step",
        "global iter",
        "global iteration",
        "globalstep",
        "globalsteps",
        "t env",
        "num updates",
    }
)
STEPS = frozenset(
    {"step", "steps", "iter", "iters", "iteration", "iterations", "it", "itr", "update", "updates", "up"}
)
BATCHES = frozenset({"batch", "batches", "minibatch", "mb"})
EPOCHS = frozenset({"epoch", "epochs", "epoches", "ep", "pass"})
MISSPELT = {
    word[:at] + word[at + 1] + word[at] + word[at + 2 :]: word
    for word in STEPS | BATCHES | EPOCHS
    for at in range(1, len(word) - 1)
    if len(word) > 3 and word[at] != word[at + 1]
}
"""These words with two letters in the wrong order: `Setp: 50`."""
OTHERS = frozenset(
    {
        "timesteps",
        "timestep",
        "samples",
        "tokens",
        "smpl",
        "kimg",
        "tick",
        "frames",
        "round",
        "episode",
        "game",
        "generation",
        "sen",
    }
)
OF_SEVERAL = frozenset({"cycle"})
"""What counts where its total is stated, as in `Cycle 2/3`; else it is the name of a loss."""
ROUNDS = OF_SEVERAL | {"episode", "game", "round", "generation"}
"""What may be announced by a line, as an epoch is."""
QUALIFIERS = frozenset(
    {"global", "train", "training", "current", "currently", "cur", "this", "optimizer", "optim", "opt",
     "gradient", "grad", "num", "data", "number", "total", "trainer", "eval", "evaluation", "val", "valid",
     "validation", "test", "env", "mini", "batch", "learning", "at", "in", "on", "for", "after", "end", "of",
     "consumed", "seen",
     "update", "learner",
     "policy", "runtime", "completed", "finished", "done", "running", "start", "started", "starting", "begin",
     "beginning", "entering", "online", "local", "trained",
     "federated", "communication", "comm", "fl"}
)  # fmt: skip
REPEATED_TRAININGS = frozenset({"fold", "trial", "subject", "run", "split", "experiment", "repetition"})
"""Words before the number of a training that is done again from the beginning."""
COUNTED_ROWS = REPEATED_TRAININGS | {"client", "session", "task"}
ROWS = COUNTED_ROWS | {"class", "dataset", "agent", "domain", "player", "speaker", "horizon"}
"""Words before a number that tells one of several apart, each with lines of its own."""
ROWS_AHEAD = ROWS | {"seed", "model"}
"""The same at the beginning of a line, elsewhere what was set."""
WRITERS = frozenset({"thread", "worker"})
"""Words before a number at the beginning of a line that tells apart who trains at the same time."""
INDEX_WORDS = frozenset({"number", "no", "num", "idx", "index", "id", "nr", "i"})
NOT_METRICS = frozenset(
    {"cuda", "npu", "xpu", "mps",
     "eta", "required", "remaining", "elapsed", "left", "day", "days", "rank", "pid", "seed",
     "gpu", "worker", "node", "port", "line", "exp", "epoch loaded", "v num", "local rank", "world size"}
)  # fmt: skip
DURATIONS = frozenset({"time", "fps", "sps", "speed", "latency", "seconds", "sec"})
"""Words of the names of what is measured in a step or an epoch: `time_per_batch`, `fps step`."""
STATISTICS = frozenset(
    {"avg", "average", "mean", "median", "std", "min", "max", "ema", "window", "smoothed", "running"}
)
"""Words in brackets behind a number for what is computed of it: `loss: 0.5 (avg: 0.4)`."""
LONE_UNITS = frozenset({"s", "m", "h", "ms", "K", "M", "G", "B", "GB", "MB"})
CALENDAR = frozenset(
    {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun",
     "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
     "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January", "February",
     "March", "April", "June", "July", "August", "September", "October", "November", "December"}
)  # fmt: skip
"""Words before the numbers of a date: `Sun Oct 29 17:00:03 2023`, `March 3, 2022`."""
STOP_WORDS = frozenset(
    {"to", "at", "in", "of", "for", "from", "with", "after", "on", "the", "and", "took", "by", "than", "over",
     "is", "was", "be", "last", "every", "per", "vs"}
)  # fmt: skip
EVALUATIONS = "|".join(EVALUATION_WORDS)
"""The words for data of an evaluation, as a pattern in lower case, for brackets around them."""
ALL_DATA = rf"train(?:ing)?|trn|{EVALUATIONS}"
"""The same for any data."""
_DATA = rf"(?<![\w./])(?<!\w-)(?:(train(?:ing)?|trn)|({EVALUATIONS}|cv(?= batch)))"
_NO_LONGER_WORD = r"(?![\w/-]|\.\w)"
DATA_SPLIT = re.compile(_DATA + _NO_LONGER_WORD, re.I)
DATA_TAG = re.compile(
    _DATA + r"(?:[_-](?:set|split|data(?:set)?|phase|mode|stage|loop))?" + _NO_LONGER_WORD, re.I
)
"""The same with a word that states nothing more, as in the tag before a line: `[TEST_SET] loss: 0.5`."""
SHORT_DATA = re.compile(r"(?:train|trn|val|valid|eval|test|dev)\.", re.I)
"""Data in a short form: `Test. Acc.: 0.9`."""
BAR_BEHIND_PERCENT = re.compile(r"%\|(?! {0,4}[^\W\d_])")
"""What begins the drawing of a progress bar: ` 12%|█▏  | 3/25`, but not `Rank-1: 48.20%| mAP: 31.75%`."""
BEFORE_MESSAGE = re.compile(
    r"(?:[^A-Za-z]|\b(?:INFO|DEBUG|WARN(?:ING)?|root|(?:__)?main(?:__)?)\b|(?<=(?:INFO|EBUG|NING):)[\w.-]+:"
    r"|\b[\w.]{1,60}(?= (?:- )?(?:INFO|DEBUG|WARN))|\b[\w./-]{1,80}\.py:(?:[\w<>.]{1,60}:)?"
    r"|(?<=(?:INFO|EBUG|NING) )in '[\w.]{1,80}'(?:\['\w{1,60}'\])? at line (?=:)"
    r"|(?<=\| )[\w.]{1,80}:[\w<>]{1,60}:(?= - ))*"
)
"""What loggers print before a message, without the digits of its time."""
BEST_WORD = (
    r"(?:\bbest\b|\bbeste[rsn]?\b|\bmeilleure?\b|\bmejor\b|\bmelhor\b|\bmigliore?\b"
    r"|\b\u043b\u0443\u0447\u0448\w{1,4}\b"
    r"|最(?:佳|好|优|優|高|良)|ベスト|최고|최적)"
)
"""What states, as a pattern in lower case, that something is of the best step so far."""
BEST = re.compile(rf"(?i){BEST_WORD}")
"""The same, in any capitals: `Saved the best model (acc=0.9)`."""
ENDS = re.compile(
    r"(?i)\b(?:finish(?:ed|es)?|end(?:ed|s)?|done|complet(?:ed?|es)|took|takes)\b|完成|结束|結束|終了|完了|완료"
    r"|\b(?:conclu[ií]d[ao]|terminad[ao]|finalizad[ao]|terminée?|beendet|abgeschlossen|заверш\w{1,8}|окончена?)\b"
    r"|^training_iteration: "  # of the keys of a result in alphabetical order
)
"""Words of a line that states what was counted when it is over."""

"""Recognises secrets by the names of settings and variables and by the form of their values.

Used where a launch's configuration and environment are captured, in the training process and when logs are
read. It may take an innocent value for a secret; that a secret has neither a telling name nor a known form
cannot be excluded.
"""

from __future__ import annotations

import re
from itertools import pairwise

_NAME = re.compile(
    r"(?i)(?:api|access|secret|private|auth|encryption|wandb|hf|account|signing)_?-?key"
    r"|secret|passw(?:or)?d|passphrase|credential|bearer|(?:^|\.)(?:token|auth|pat)$"
    r"|(?:access|auth|api|hub|hf|bot|push_to_hub|login|session|refresh)_?-?token"
)
_PREFIXED = (
    # code hosting and builds
    r"gh[pousr]_|github_pat_|gl(?:pat|dt|rt|cbt|soat|ft|agent|oas|imt|ptt)-|ATATT3|ATBB|CCIPAT_|CCIPRJ_"
    r"|bk(?:ua|ct|aj)_|sq[pua]_|npm_|pypi-|rubygems_|CLOJARS_|cio[A-Za-z0-9]{24}|dckr_(?:pat|oat)_|jfrt@|AKC[a-z0-9]"
    # clouds
    r"|AKIA|ASIA|ABIA|ACCA|AIza|ya29\.|GOCSPX-|1//0|do[opr]_v1_|dapi[0-9a-f]{8}|HRKU-|FlyV1|fo1_|LTAI|nf[po]_"
    r"|sbp_|pscale_(?:tkn|oauth|pw)_|hv[sbr]\.|atlasv1\.|pul-[0-9a-f]{8}|dp\.(?:pt|st|sa|ct|scim|audit)\.|tskey-"
    # models and experiments
    r"|api_org_|sk-|sk_|rk_(?:live|test)_|wandb_v1_|local-[0-9a-f]{8}|r8_|gsk_|pplx-|xai-|pcsk_|fw_|nvapi-|tgp_v1_"
    r"|csk-|esecret_|co_api_"
    # communication, payment, observation, documents
    r"|xox[abeoprs]-|xapp-|whsec_|pk_live_|shp(?:at|ca|pa|ss)_|sq0(?:atp|csp|idp)-|SG\.|EAAC|EAAG|sntry[su]_"
    r"|gl(?:sa|c)_|NRAK-|NRJS-|PMAK-|lin_(?:api|oauth)_|ntn_|secret_|figd_|figo_|pat[A-Za-z0-9]{14}\.|dop_|rdme_|mlsn\."
    r"|AGE-SECRET-KEY-1|sl\.[A-Z]|00D[A-Za-z0-9]{12}!|ops_ey"
)
"""Beginnings that services give their tokens, so that they can be recognised."""
_VALUE = re.compile(
    rf"(?<![\w/.-])(?:{_PREFIXED})[\w./=+-]{{10,}}"
    r"|\bhf_[A-Za-z0-9]{10,}"  # not the settings hf_dataset_...
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY|PuTTY-User-Key-File"
    r"|://[^/\s:@]*:[^/\s@]+@"
    r"|hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/|webhook\.office\.com/|api\.telegram\.org/bot"
    r"|\b(?:AccountKey|SharedAccessKey|SharedAccessSignature|client_secret|password|passwd|pwd|secret|token)=[^\s&;]{6,}"
    r"|[?&](?:sig|signature|X-Amz-Signature|access_token|api_key|apikey|auth|key)=[^\s&]{8,}"
    r"|\b(?:Bearer|Basic|Token|Digest) [\w.+/=~-]{12,}"
    r"|\b\d{8,10}:AA[\w-]{30,}|\b(?:SK|AC)[0-9a-f]{32}\b|\bkey-[0-9a-f]{32}\b|\b[0-9a-f]{32}-us\d{1,2}\b"
)
_HEXADECIMAL = re.compile(r"[0-9a-f]{40}")
"""A key of W&B, or the version of a git commit or a model hub."""
_VERSION = re.compile(r"(?i)commit|revision|sha|hash|digest|version")

_SECRET_PARTS = re.compile(
    r"(?i)secret|passw(?:or)?d|passwd|passfile|passphrase|credential|apikey|accesskey|authkey|privatekey|token(?!iz)"
    r"|keytab|keystore|webhook|cookie|signature|kubeconfig|netrc|encrypt"
)
_SECRET_WORDS = frozenset(
    {
        "access", "auth", "authentication", "authorization", "bearer", "cert", "certificate", "connstr",
        "connection", "cred", "creds", "dsn", "jwt", "key", "keys", "keyfile", "license", "login", "mfa",
        "nonce", "oauth", "otp", "pass", "pat", "pem", "pfx", "pgpass", "pin", "private", "psk", "pwd",
        "salt", "saml", "seedphrase", "session", "sid", "sig", "ssh", "sso", "totp", "userpass",
    }
)  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_RANDOM = re.compile(r"[A-Za-z0-9+=_-]{24,}")
_HEX_DIGITS = re.compile(r"[0-9A-Fa-f]{32,}")
_IDENTIFIER = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")


def is_secret(name: str, value: object) -> bool:
    """Whether a setting of a configuration looks like a key, a token or a password.

    Numbers and empty values do not.
    """
    if not isinstance(value, str) or value in ("", "None", "null"):
        return False
    if _NAME.search(name) or _VALUE.search(value):
        return True
    return _HEXADECIMAL.fullmatch(value) is not None and _VERSION.search(name) is None


def is_secret_variable(name: str, value: str) -> bool:
    """Whether an environment variable may be a secret; stricter than for settings.

    A name with a word such as KEY or AUTH suffices, and so does a value that looks random.
    """
    return names_secret(name) or is_secret(name, value) or looks_random(value)


def names_secret(name: str) -> bool:
    """Whether a name says that its value is a secret."""
    if _SECRET_PARTS.search(name):
        return True
    return any(word.lower() in _SECRET_WORDS for word in _WORDS.findall(name))


def looks_random(value: str) -> bool:
    """Whether a value contains a long text without words: letters of both cases mixed with digits."""
    if _HEX_DIGITS.search(value) or _IDENTIFIER.search(value):
        return True
    for piece in _RANDOM.findall(value):
        changes = sum(_kind(left) != _kind(right) for left, right in pairwise(piece))
        if changes >= len(piece) / 4 and any(letter.isdigit() for letter in piece):
            return True
    return False


def _kind(letter: str) -> int:
    return 0 if letter.isdigit() else 1 if letter.isupper() else 2 if letter.islower() else 3

"""What the owner of a server lets its visitors do.

In the demo, and inside a frame of another page, a tab has public samples only: no table comes in
and nothing is released. A page around a frame could lead a person to click or type there what they
do not see. On a server for others the ledger opens with the owner's key only, and nobody else is
told of it.
"""

import hashlib
import hmac
import os

import streamlit as st

from .current_table import is_public_host
from .session import session

DEMO_VARIABLE = "DPCORE_DEMO"
FRAME_HEADER = "x-dpcore-in-frame"  # which the server sets itself, for a tab inside a frame
DEMO_TEXT = (
    "This is a demo with public samples: no file can be uploaded, and nothing is released. To use "
    "your own table, install the app on your computer, where no table leaves it: "
    "`uvx privacy-utility-explorer`"
)
FRAME_TEXT = (
    "Inside another page this app has public samples only. To use your own table, open the app in "
    "a window of its own."
)
KEY_VARIABLE = "DPCORE_LEDGER_KEY"
MIN_KEY_CHARS = 16  # characters: too many to be tried out
MAX_KEY_CHARS = 1000


def is_demo() -> bool:
    """Return whether this server is a demo for everybody."""
    return bool(os.environ.get(DEMO_VARIABLE, "").strip())


def is_in_frame() -> bool:
    """Return whether this tab is drawn inside a frame of another page."""
    return FRAME_HEADER in st.context.headers


def has_samples_only() -> bool:
    """Return whether this tab may bring no table and release nothing."""
    return is_demo() or is_in_frame()


def samples_only_text() -> str:
    """Return why this tab has public samples only, and what to do, as markdown."""
    return DEMO_TEXT if is_demo() else FRAME_TEXT


def owner_key() -> str:
    """Return the owner's key; "" if none is set, it is too short, or a tab has samples only.

    A short key could be tried out.
    """
    if has_samples_only():
        return ""
    configured_key = os.environ.get(KEY_VARIABLE, "").strip()
    return configured_key if len(configured_key) >= MIN_KEY_CHARS else ""


def requires_owner_key() -> bool:
    """Return whether a visitor must enter the key for the ledger.

    So it is on a server for others, and wherever a key is set. A tab with samples only has none to
    enter.
    """
    return has_samples_only() or is_public_host() or bool(os.environ.get(KEY_VARIABLE, "").strip())


def has_ledger_access() -> bool:
    """Return whether this tab may see the ledger: no key is needed, or it was entered."""
    correct_key = owner_key()
    return not requires_owner_key() or bool(
        correct_key and hmac.compare_digest(session().owner_key_digest, _key_digest(correct_key))
    )


def request_ledger_access() -> bool:
    """Return whether this tab may see the ledger; draw an input for the key where it must.

    Nothing else is said to a person who has none.
    """
    if has_ledger_access():
        return True
    correct_key = owner_key()
    if not correct_key:
        return False
    input_slot = st.empty()
    entered_key = input_slot.text_input(
        "The owner's key of the ledger",
        type="password",
        key="ledger-key",
        max_chars=MAX_KEY_CHARS,
        autocomplete="off",
        help="Releases and what was ever released are for those who hold it.",
    )
    if entered_key and hmac.compare_digest(
        _key_digest(entered_key.strip()), _key_digest(correct_key)
    ):
        session().owner_key_digest = _key_digest(correct_key)
        input_slot.empty()
        return True
    if entered_key:
        st.error("This is not the key.")
    return False


def _key_digest(text: str) -> bytes:
    """Return the SHA-256 digest of a key.

    Digests have one length, so a comparison in constant time tells nothing of the key's.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

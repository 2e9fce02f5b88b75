"""Whose the ledger is: on a server for others it is opened by the owner's key only, and told to nobody else."""

import hashlib
import hmac
import os

import streamlit as st

from .current_table import public_host
from .session import session

KEY = "DPCORE_LEDGER_KEY"
SHORTEST = 16  # characters: too many to be tried out
LONGEST = 1000


def key() -> str:
    """The owner's key; "" where none is set, or one so short that it could be tried out."""
    configured_key = os.environ.get(KEY, "").strip()
    return configured_key if len(configured_key) >= SHORTEST else ""


def asked_for() -> bool:
    """Whether a visitor must show the key: on a server for others, and wherever a key is set."""
    return public_host() or bool(os.environ.get(KEY, "").strip())


def opened() -> bool:
    """Whether this tab may see the ledger: nobody asks for the key, or it was shown."""
    correct_key = key()
    return not asked_for() or bool(correct_key and hmac.compare_digest(session().opened_with, _digest(correct_key)))


def opens() -> bool:
    """Whether this tab may see the ledger. Asks for the key where it must; nothing else is said to who has none."""
    if opened():
        return True
    if not (correct_key := key()):
        return False
    input_slot = st.empty()
    entered_key = input_slot.text_input(
        "The owner's key of the ledger", type="password", key="ledger-key", max_chars=LONGEST, autocomplete="off",
        help="Releases and what was ever released are for those who hold it.",
    )  # fmt: skip
    if entered_key and hmac.compare_digest(_digest(entered_key.strip()), _digest(correct_key)):
        session().opened_with = _digest(correct_key)
        input_slot.empty()
        return True
    if entered_key:
        st.error("This is not the key.")
    return False


def _digest(text: str) -> bytes:
    """Of one length, so that a comparison in constant time tells nothing of the key's."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

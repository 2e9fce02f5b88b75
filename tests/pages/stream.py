"""All that a headless tab is sent, message by message, and what its downloads hold, as text without
random names.
"""

import re
from contextlib import contextmanager

import pytest
from streamlit.elements.widgets.button import ButtonMixin
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

RANDOM = (  # names that are drawn anew in every tab, and one that is a digest of them
    (re.compile(r"\$\$ID-[0-9a-f]{32}"), "$$ID"),
    (re.compile(r"[0-9a-f]{32}"), "<uuid>"),
    (re.compile(r"person-[0-9]+"), "person"),  # the place of a table in memory
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
)


class Stream:
    """What was sent since it was last emptied."""

    def __init__(self):
        self.messages = []
        self.downloads = []

    def empty(self):
        self.messages.clear()
        self.downloads.clear()

    @property
    def text(self):
        """Everything, downloads at the end."""
        return "\n".join([*self.messages, *self.downloads])

    @property
    def elements(self):
        """Every element that was sent, in order, and the downloads, without random names."""
        found = [*self.messages, *self.downloads]
        for pattern, name in RANDOM:
            found = [pattern.sub(name, text) for text in found]
        return found


@contextmanager
def streamed():
    """Hear all messages of all headless tabs: of every run, also what a later one replaces."""
    heard = Stream()
    enqueue = ForwardMsgQueue.enqueue
    download = ButtonMixin._download_button

    def recorded(self, message):
        if message.WhichOneof("type") in ("delta", "page_config_changed", "page_info_changed"):
            kind = message.WhichOneof("type")
            heard.messages.append(f"{kind} {getattr(message, kind)}")
        enqueue(self, message)

    def handed_over(self, label, data, *args, **kwargs):
        content = data() if callable(data) else data
        heard.downloads.append(content if isinstance(content, str) else repr(content))
        return download(self, label, data, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ForwardMsgQueue, "enqueue", recorded)
        patch.setattr(ButtonMixin, "_download_button", handed_over)
        yield heard

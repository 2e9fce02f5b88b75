"""The demo on a community cloud: `streamlit run .deploy/demo/streamlit_app.py` from the root.

Public samples only, no upload, and less than 1 GB of memory for all tabs together. The requirements
and the settings lie beside this file.
"""

import os
import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[2]
os.environ["DPCORE_DEMO"] = "1"  # before the pages are imported, which go by it
sys.path.insert(0, str(ROOT))

from pages._ui.server import serving  # noqa: E402 - which is found from here on

app = st.App(ROOT / "app.py", **serving.app_options())

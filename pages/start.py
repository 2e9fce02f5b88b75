"""Start: one small real table, released at every ε, and one slider that moves through them; and the way in."""

import streamlit as st

from pages._ui.shell import controls
from pages._ui.start import admissions as start

epsilon = start.chosen()
left, right = st.columns([3, 2], gap="large")
with left:
    start.draw(epsilon)
with right:
    at = {"epsilon": controls.number(epsilon)}
    with st.container(border=True, key="way-in"):
        st.page_link("pages/data.py", label="**Use my table**", icon=":material/upload:")
    here = {"sample": start.SAMPLE, **at}
    st.page_link("pages/explore.py", label="Explore this sample", icon=":material/query_stats:", query_params=here)
    st.page_link("pages/guarantee.py", label="What does this ε mean?", icon=":material/verified_user:", query_params=at)
    st.markdown(
        "**Drag ε.** Small ε: strong promise, wrong bars. Large ε: weak promise, right bars. Where to stop is your "
        "decision; these pages show what each choice costs, for every question you care about."
    )
    st.caption(
        f"All {len(controls.EPSILONS)} stops were released beforehand, from a table that is public. Of records that "
        "are not, every release that somebody looks at is charged, and all of them count together."
    )

"""Entry point of the app: the pages, their groups, the frame around each, and serving."""

import streamlit as st

from pages._ui.components.frame import draw_page_head
from pages._ui.components.menu import DATA_PAGE_LABEL, ENTRIES_BY_GROUP
from pages._ui.jobs import browser_memory, table_changes
from pages._ui.jobs.shared_pool import worker_pool
from pages._ui.project import project_menu
from pages._ui.server import serving
from pages._ui.session import address_link, stakeholder_wall, visible_table

if __name__ != "__main__":  # imported by `streamlit run`, to serve all pages; as a page it is run
    app = st.App(__file__, **serving.app_options())
else:
    # No icons: a browser would fetch a page's icon for its tab from the makers of the font.
    groups = {
        group: [st.Page(entry.path, title=entry.label, default=entry.first) for entry in entries]
        for group, entries in ENTRIES_BY_GROUP.items()
    }
    page = st.navigation(groups, position="top")
    worker_pool()  # so that workers are warm by the time a person has chosen something
    draw_page_head(page.title)
    project_menu.draw_project_menu()
    try:
        if page.title == DATA_PAGE_LABEL:  # it draws itself what is on its way
            stakeholder_wall.draw_until_withheld(page.run)
        elif table_changes.apply_finished_changes():
            try:
                stakeholder_wall.draw_until_withheld(page.run)
            finally:  # once the page has said what is asked
                if visible_table().uploaded:
                    browser_memory.remember_columns(visible_table())
    finally:
        address_link.draw_link_warnings()

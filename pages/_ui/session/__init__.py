"""What one browser tab holds: its table and settings; and texts of others made inert."""

from .counted_table import LargeTable
from .current_table import (
    is_public_host,
    persistent_widget_args,
    sample_table,
    server_label,
    set_widget_value,
    visible_table,
    whole_table,
)
from .inert_text import (
    algorithm_nickname,
    capitalize_first,
    distinct_figure_labels,
    distinct_labels,
    escape_figure_text,
    escape_markdown,
    format_query_label,
    join_first_printable_texts,
    printable_text,
)
from .schema_share import WHOLE_BUDGET_TEXT, selected_share, share_slider
from .session import session
from .stakeholder_view import is_stakeholder_view
from .stakeholder_wall import is_public_table, show_left_out_notice
from .table import COMFORTABLE_CELLS, Table

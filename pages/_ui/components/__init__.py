"""What all pages draw with: the frame of a page, widgets, texts, tiles and tables."""

from .frame import (
    check_rows_in_memory,
    draw_badge_if_different,
    draw_heading,
    draw_row_unit_note,
    draw_table_header,
    draw_trial_note,
    hide_in_stakeholder_view,
    inline_container,
    show_refusals,
    warn_if_schema_incomplete,
)
from .glossary_words import glossary_tooltip
from .parameter_widgets import ADDRESS_WIDGET_ARGS, EPSILON_OPTIONS, format_setting
from .program_panel import draw_program
from .question_choice import QUESTION_GRAMMAR_TEXT, question_placeholder
from .result_panels import (
    CHART_CONFIG,
    draw_chart_footer,
    draw_chart_panel,
    draw_downloadable_chart,
    draw_downloadable_table,
    explain_missing_runs,
    rows_to_show,
)
from .tabs import draw_tabs
from .verdict_tiles import largest_error_name, show_tiles, tile_text

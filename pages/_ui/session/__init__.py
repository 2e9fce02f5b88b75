"""What one browser tab holds: its table and settings; and texts of others made inert."""

from .counted_table import Large
from .current_table import give, here, public_host, sample_table, shared, table, whole_table
from .inert_text import clean, distinct, few, figure_text, nickname, plain, question, short_names
from .schema_share import WHOLE, chosen_part, share_slider
from .session import session
from .stakeholder_view import stakeholder
from .stakeholder_wall import is_withheld, say_left_out
from .table import COMFORTABLE_CELLS, Table, Told

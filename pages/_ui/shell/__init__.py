"""What all pages share: a tab's table and session, the head of a page, widgets, hostile text made inert, findings."""

from .controls import EPSILONS, KEPT, number
from .counted import Large
from .frame import heading, in_memory, line, peek, refusals, row, tag, tried, unfinished
from .opened import WHOLE, chosen_part, share_slider
from .questions import GRAMMAR
from .results import QUIET, as_table, below, lacking, panel
from .sessions import session
from .state import give, here, public_host, sample_table, shared, table, whole_table
from .tables import COMFORTABLE_CELLS, Table, Told
from .tabs import parts
from .text import clean, distinct, few, figure_text, nickname, plain, question, short_names
from .verdict import show_tiles, tile_text
from .view import stakeholder
from .wall import is_withheld, say_left_out
from .words import meaning

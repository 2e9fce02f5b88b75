"""What all pages draw with: the frame of a page, widgets, texts, tiles and tables."""

from .frame import heading, in_memory, line, peek, refusals, row, tag, tried, unfinished
from .glossary_words import meaning
from .parameter_widgets import EPSILONS, KEPT, number
from .question_choice import GRAMMAR
from .result_panels import QUIET, as_table, below, lacking, panel
from .tabs import parts
from .verdict_tiles import show_tiles, tile_text

"""How long things may be, each with its reason."""
PAGE_CELLS = 80  # a page that a reader scrolls to its end
SITTING_CELLS = 65
SITTING_MINUTES = 50  # one sitting, with its exercises
CLASS_MINUTES = 42  # without them, a class of 45 has room for a question
EXERCISE_MINUTES = 9
EXERCISES = 2  # in the sitting: one that is quick, and one to write
AT_HOME = 3
STORY_WORDS = 2700  # with fewer, writers fall back into shorthand
CELL_WORDS = 110  # with 90, paragraphs were cut in two
SCREEN_WORDS = 250  # what fits one screen beside its code
SCREEN_LINES = 20
CODE_LINES = 15  # what a projector shows at 150 %, in lines of 79 characters
PROOF_LINES = 24  # proofs are folded, and nobody projects them
UNANNOUNCED_LINES = 6  # longer code needs a sentence that says what it is for
PROOFS = 5  # beside that of the one screen
SECTION_CELLS = 25  # of a deeper notebook: a quarter of an hour
FILE_BYTES = 700_000  # GitHub shows no larger notebooks reliably

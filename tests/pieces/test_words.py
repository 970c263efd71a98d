"""What the pieces say in JavaScript, word for word, at the edges of each rule; and small helpers
that nothing else asks alone."""
import pytest
from javascript import compute

from attention_lessons.pieces import source

PRIVATE = {  # functions that a piece keeps for itself
    "clock": "columnsOf, degrees, rough", "lengths": "describe",
}
SHARED = "contrast, luminance, mix, word"
NAMES = "['a', 'b', 'c', 'd', 'e']"
LENGTHS = """{ trained: 4, stretch: 2, accuracy: {
    copy: { T5: { 8: [1, 1, 0.5, 0.5] }, Shaw: { 8: [1, 0.9, 0.8, 0.7] },
            none: { 8: [null, null, null, null] } },
    hard: { Shaw: { 8: [0.4, 0.2, 0.2, 0.2] } },
    easy: { Shaw: { 4: [1, 1], 8: [null, 0.4, 0.4, 0.4] } } } }"""
SAID = {
    "clock": {
        "[35.34, 200, 35312, 0.12345].map(rough)": ["35.3", "200", "35,300", "0.12"],
        "degrees(Math.PI)": "180°",
        "columnsOf(3)": "6, 7",
        "tell({ position: 6, offset: 0, width: 32, hand: 3 })":
            "From position 6 to 6 nothing turns: the rotation is the identity, and a row's "
            "similarity to itself is 1.",
        "tell({ position: 6, offset: 2, width: 32, hand: 3 })":
            "From position 6 to 8 the hand of columns 6 and 7 turns by 20.4°, as it does from any "
            "other position. A round takes it 35.3 positions. The similarity of the two rows, "
            "0.86, depends on the offset alone as well.",
    },
    "lengths": {
        "tell(D, { task: 'copy', length: 8, scored: 'all' })":
            "copy, length 8, all positions: Shaw leads with 0.85, then T5 with 0.75. The positions "
            "up to 4 flatter T5.",
        "tell(D, { task: 'copy', length: 8, scored: 'beyond' })":
            "copy, length 8, only positions beyond 4: Shaw leads with 0.75, then T5 with 0.50.",
        "tell(D, { task: 'hard', length: 8, scored: 'all' })":
            "hard, length 8, all positions: nobody is ahead: the best, Shaw, gets 0.25.",
        "tell(D, { task: 'easy', length: 8, scored: 'all' })":
            "easy, length 8, all positions: Shaw leads with 0.40.",
        "tell(D, { task: 'easy', length: 4, scored: 'all' })":
            "easy, length 4, all positions: Shaw leads with 1.00.",
        "tell(D, { task: 'easy', length: 4, scored: 'beyond' })":
            "easy, length 4, only positions beyond 4: no position is scored there. Choose a "
            "longer input.",
        "grade([null, 1, 0], { trained: 4, stretch: 2 }, 'all')": 0.5,
        "grade([1, 1], { trained: 4, stretch: 2 }, 'beyond')": None,
        """describe(D, ranking(D, { task: 'easy', length: 8, scored: 'all' }),
                    { task: 'easy', length: 8 })""":
            "easy, length 8. A strip of accuracies by position for each encoding, best first: "
            "Shaw 0.40, up to 4 0.40, beyond 0.40",
        """describe(D, ranking(D, { task: 'copy', length: 8, scored: 'all' }),
                    { task: 'copy', length: 8 }).split("; ").slice(1)""":
            ["T5 0.75, up to 4 1.00, beyond 0.50", "none not scored, up to 4 not scored, beyond "
             "not scored"],
    },
    "shared": {
        "[[], ['a'], T.slice(0, 2), T.slice(0, 3)].map(list)": ["", "a", "a and b", "a, b and c"],
        "[0, 1, 2].map((count) => plural(count, 'head'))": ["0 heads", "1 head", "2 heads"],
        "[9999, 999.994, 1000, -1000.4, 1e4].map(digits)":
            ["9999", "999.99", "1000", "-1000", "1.00e+4"],
        "[clip('abc', 3), clip('abcd', 3), clip(' a  b ', 9), clip('', 9)]":
            ["abc", "ab…", "a b", "(empty)"],
        "softmax([0, Math.log(3)])": [0.25, 0.75],
        "softmax([0, Math.log(3)], 2)": [0.1, 0.9],
        "softmax([1000, 1000])": [0.5, 0.5],
        "softmax([0, 1000])": [0, 1],
        "mix([0, 100, 200], [100, 0, 201], 0.5)": [50, 50, 201],
        "css([1, 2, 3])": "rgb(1 2 3)",
        "word([1, 2, 3])": 0xFF030201,
        "luminance([255, 255, 255])": 1,
        "[[0, 0, 0], [255, 255, 255], [0, 0, 255], [0, 255, 0]].map((c) => on(c)[0])":
            [255, 0, 255, 0],
    },
}


@pytest.mark.parametrize("piece", SAID)
def test_word_for_word(tmp_path, piece):
    names = SHARED if piece == "shared" else PRIVATE.get(piece)
    text = source("clock" if piece == "shared" else piece)
    text += f"\nexport {{ {names} }};\n" if names else ""
    # Everything that the piece exports is there under its own name.
    expression = f"""(() => {{ const T = {NAMES}, D = {LENGTHS};
        const {{ {', '.join(exported(tmp_path, text))} }} = piece;
        return [{', '.join(SAID[piece])}]; }})()"""
    found = dict(zip(SAID[piece], compute(tmp_path, text, expression)))
    for said, wanted in SAID[piece].items():
        near = pytest.approx(wanted) if isinstance(wanted, (float, list)) and said.startswith(
            ("softmax", "lum")) else wanted
        assert found[said] == near, said


def exported(folder, text):
    names = compute(folder, text, "Object.keys(piece)")
    return [name for name in names if name != "default"]

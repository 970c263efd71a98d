"""Messages: English in the code, another language when they are spoken."""
import copy
import pickle

import pytest

from attention_lessons import languages
from attention_lessons.languages import t


@pytest.fixture
def chinese(monkeypatch):
    words = {"{0} of {1}": "{1}中的{0}", "heads": "头", "Right.": "对。", "Go on.": "继续。",
             "{0} {1}": "{0}{1}", ", ": "、", "{a} {0}": "{a}：{0}"}
    monkeypatch.setattr(languages, "catalogue", lambda code: words if code == "zh" else {})
    monkeypatch.setattr(languages, "chosen", "zh")


def test_words_are_looked_up_when_they_are_spoken_and_values_stay(chinese):
    head = t("{0} of {1}", 2, t("heads"))
    assert str(head) == repr(head) == f"{head}" == "头中的2"
    assert str(t("{0} of {1}", "heads", "{0}")) == "{0}中的heads"  # a learner's words
    assert str(t("{a} {0}", 1)) == "{a}：1" and str(t("{0}")) == "{0}"
    assert str(t("not in it: {0}", 1)) == "not in it: 1"
    assert t(head) is head
    languages.chosen = "en"
    assert str(head) == "2 of heads"


def test_as_a_string_a_message_is_its_english(chinese):
    head = t("{0} of {1}", 2, t("heads"))
    assert head == "2 of heads" and "of" in head and {head: 1}["2 of heads"] == 1
    assert [str(each) for each in (copy.deepcopy(head), pickle.loads(pickle.dumps(head)))] == [
        "头中的2"] * 2


def test_messages_are_joined(chinese):
    right, on = t("Right."), t("Go on.")
    both = t("{0} {1}", right, on)
    assert both == "Right. Go on." and str(both) == "对。继续。"
    assert str(right + "\n" + on) == "对。\n继续。" and str("✓ " + right) == "✓ 对。"
    assert str(t(", ").join(["a", t("heads"), "b"])) == "a、头、b"
    assert str(t(", ").join([])) == "" and str(t(", ").join(["heads"])) == "heads"

"""What is wrong with a translation."""
import re
import tomllib
from collections import Counter
from functools import cache

from tools.notebooks.catalogue import FOLDER
from tools.notebooks.readme import read


def faults(catalogue, wanted, language="zh"):
    """What keeps the catalogue from being the lessons' in its language, a line each."""
    spoken = {}
    for room, keys in wanted.items():
        have = {entry.key: entry for entry in catalogue.get(room, [])}
        yield from (f"{room}: surplus: {name(key)}" for key in have.keys() - {*keys})
        for key in keys:
            entry = have.get(key)
            if entry and lags(entry):
                continue
            if entry is None or not entry.twin:
                yield f"{room}: missing: {name(key)}"
            elif entry.fuzzy:
                yield f"{room}: fuzzy: {name(key)}"
            else:
                found = [*differences(entry.text, entry.twin, language),
                         *strangers(entry, language)]
                if not entry.context and spoken.setdefault(entry.text, entry.twin) != entry.twin:
                    found.append("said otherwise in another room")
                yield from (f"{room}: {name(key)}: {fault}" for fault in found)


def lags(entry):
    """Whether a text of a notebook's cell has no translation yet: it is shown in English, and
    counted, until it has one."""
    of_a_cell = "/" in entry.context or entry.context == "code"
    return of_a_cell and not entry.is_done


def name(key):
    context, text = key
    return context if "/" in context else repr(text)


BARE = r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|\[[^\]]*\]\([^)]*\)"
# What a translation keeps, in any order: each rule finds it in a text.
KEEPS = {
    "code": r"```.*?```|`[^`\n]*`",
    "a formula": r"\$\$.*?\$\$|\$[^$\n]*\$",
    "a link": r"\]\([^)\s]*\)|https?://[\w./?=&%#-]+",
    "a tag": r"</?[a-z]+[^>]*>",
    "a number": r"(?<![A-Za-z_\d.])\.?\d(?:[\d,.]*\d)?",
    "an item of a list": r"(?m)^ *(?:[-*]|\d+\.) ",
    "a row of a table": r"(?m)^\|",
    "a heading": r"(?m)^#+ ",
    "a place": r"\{\d\}",
}
BESIDE = r"[A-Za-z0-9`$]"
UNTIDY = {  # in Chinese text, but for code and formulas
    "a half-width sign after a character": r"[\u4e00-\u9fff][,;:?!]|[\u4e00-\u9fff]\.(?!\w)",
    "a space beside a character":
        rf"[\u4e00-\u9fff，。：；？！（）、] {BESIDE}|{BESIDE} [\u4e00-\u9fff（]",
    # CommonMark: no sign before a closing ** that a character follows, none after an opening one
    "bold that does not close": r"(?m)^(?:[^*\n]*\*\*[^*\n]+\*\*)*?[^*\n]*\*\*[^*\n]+"
                                r"[，。：；？！）”]\*\*(?=[\w\u4e00-\u9fff])",
    "bold that does not open": r"(?m)^(?:[^*\n]*\*\*[^*\n]+\*\*)*?[^*\n]*[\w\u4e00-\u9fff]\*\*"
                               r"[（“《]",
}


def kept(text):
    """What stands in a text that its translation must have as well: kind -> how often each."""
    found, text = {}, re.sub(r'alt="[^"]*"', 'alt=""', text)  # words, which are translated
    for kind, rule in KEEPS.items():
        found[kind] = Counter(re.findall(rule, text, re.S))
        if kind in ("code", "a formula", "a link", "a tag"):
            text = re.sub(rule, lambda part: "\x00" * part[0].startswith("`"), text, flags=re.S)
    return found


WORDS = ("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
         "sixteen seventeen eighteen nineteen twenty").split()


def unsaid(text, twin, language):
    """The numbers that a text says in words and its translation doesn't, in characters or not."""
    digits = glossary(language).get("digits", "")
    if not digits:
        return set()
    bare, said = re.sub(BARE, " ", twin.replace("两", "二"), flags=re.S), set()
    for one in re.findall(rf"[{digits}十]+|\d+", bare):
        tens, ten, rest = one.partition("十")
        said |= {*map(digits.find, one), int(one) if one.isdecimal() else 0,
                 10 * max(1, digits.find(tens)) + digits.find(rest or "零") if ten else 0}
    found = re.findall(rf"\b({'|'.join(WORDS)})\b(?! thousand)", re.sub(BARE, " ", text), re.I)
    return {word for word in found if WORDS.index(word.lower()) + 2 not in said}


@cache
def differences(text, twin, language):
    """What a translation lost or added, and what is untidy in it; commands may be others."""
    if text.startswith("```"):
        return []
    ours, theirs = kept(text), kept(twin)
    faults = [f"a number: lacks {word}" for word in unsaid(text, twin, language)]
    for kind in KEEPS:
        if ours[kind] != theirs[kind]:
            lost, added = [*(ours[kind] - theirs[kind])], [*(theirs[kind] - ours[kind])]
            faults.append(f"{kind}: lacks {lost}, has {added}")
    bare = re.sub(r"```.*?```|\$\$.*?\$\$|^# \d\d ", "", twin, flags=re.S)
    return faults + [f"{fault}: {found!r}" for fault, rule in UNTIDY.items()
                     for found in re.findall(rule, bare)]


@cache
def glossary(language):
    """What `glossary.toml` says of a language: its name, terms, links, and ways to say things."""
    return tomllib.loads(read(FOLDER / language / "glossary.toml"))


def links(language):
    """The glossary's links: the English one -> what stands in its place."""
    return glossary(language).get("links", {})


def terms(language):
    """The glossary: term -> its translation; and term -> cells that say something else."""
    return glossary(language)["terms"], glossary(language).get("elsewhere", {})


@cache
def terms_in(text, language):
    """The terms of the glossary that a text has outside code, formulas and links."""
    text = re.sub(BARE, " ", text, flags=re.S).lower()
    return {term for term in terms(language)[0]
            if term in text and re.search(rf"\b{re.escape(term)}(s|es)?\b", text)}


def strangers(entry, language):
    """The terms of a cell that its translation has not, or has where the glossary says not."""
    if "/" not in entry.context or entry.context.endswith(
            ("/references", "/further-reading", "/claims", "/map")):
        return
    glossary, elsewhere = terms(language)
    for term in terms_in(entry.text, language):
        excused = entry.context in elsewhere.get(term, ())
        if excused and glossary[term] in entry.twin:
            yield f"has {term}, glossary says not"
        elif not excused and glossary[term] not in entry.twin:
            yield f"{term} is {glossary[term]}"

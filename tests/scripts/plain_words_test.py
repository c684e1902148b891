#!/usr/bin/env python3
"""Documentation, comments and messages use terms that an engineer can look up (docs/glossary.md), and no private wording.

tests/scripts/plain_words.tsv has one pattern per line: a regular expression, the term to write instead, and the number of hits at
which the wording is right and stays (no number: none). A pattern with more hits fails, and so does one with fewer: its number is then
lowered. Generated parts of pages and blocks of code are not searched, because they hold what the program prints.
`plain_words_test.py --show PATTERN_PART` lists the hits of the patterns whose text has that part.
"""

import collections
import pathlib
import re
import subprocess
import sys

from numbers_in_prose_test import ROOT, is_report, pages, prose_of

CODE = {".cpp", ".hpp", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".cmake", ".txt"}
# Sentences that are replaced as a whole, and examples of this test.
EXEMPT = {"src/render/explanation_text.cpp", "tests/scripts/plain_words_test.py"}
SHORTEST_MESSAGE = 12  # characters; shorter literals are names
TOKEN = re.compile(r'//(?P<comment>[^\n]*)|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'')
SCRIPT_TOKEN = re.compile(r'"""(?P<text>.*?)"""|(?:^|(?<=\s))#(?P<comment>[^\n]*)|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.S | re.M)


def patterns():
    """(regular expression, term, number of accepted hits) of each line of plain_words.tsv."""
    found = []
    for line in (ROOT / "tests/scripts/plain_words.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, term, *accepted = line.split("\t")
            found.append((re.compile(pattern, re.I), term, int(accepted[0]) if accepted else 0))
    return found


def passages_of_code(text, token):
    """(line, passage) of each run of comments and of each message. Literals that the compiler joins are one passage."""
    found, previous_end = [], -1
    for match in token.finditer(text):
        kind = next((kind for kind in ("comment", "text") if match.groupdict().get(kind) is not None), "name")
        passage = match.group(kind).lstrip("/!<").strip() if kind == "comment" else match.group("text") if kind == "text" else ""
        between = text[previous_end:match.start()] if found else "no passage"
        previous_end = match.end()
        if found and found[-1][2] == kind and passage and found[-1][1] and not between.strip() and between.count("\n") < 2:
            found[-1] = (found[-1][0], f"{found[-1][1]} {passage}" if kind == "comment" else found[-1][1] + passage, kind)
        else:
            found.append((text.count("\n", 0, match.start()) + 1, passage, kind))
    return [(line, re.sub(r"\s+", " ", passage)) for line, passage, kind in found
            if passage and (kind == "comment" or len(passage) >= SHORTEST_MESSAGE)]


def passages_of_page(text, has_code=False):
    """(line, paragraph) of Markdown without generated parts, each table row by itself; with `has_code`, including code between backticks."""
    found = []
    lines = prose_of(text, has_code).split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip() and found and not line.startswith("|") and found[-1][2] == number - 1:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}", number)
        elif line.strip():
            found.append((number, line.strip(), number))
    return [(line, passage) for line, passage, _ in found]


def passages(path, has_code=False):
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        return passages_of_page(text, has_code)
    if path.suffix == ".json":
        return [(text.count("\n", 0, match.start()) + 1, match[1]) for match in re.finditer(r'"description": "(.*)"', text)]
    found = passages_of_code(text, TOKEN if path.suffix in CODE else SCRIPT_TOKEN)
    return found if has_code else [(line, re.sub(r"`[^`]*`", "", passage)) for line, passage in found]


def hits_in(passages_found, pattern):
    return [(line, match.group()) for line, passage in passages_found for match in pattern.finditer(passage)]


def searched_files():
    """Sources that git tracks, and the pages that are not reports of recorded results."""
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "src", "kernels", "tests", "scripts", "docs/studies", "CMakeLists.txt"],
                           check=True, capture_output=True, text=True).stdout.split()
    sources = [ROOT / name for name in names if pathlib.Path(name).suffix in CODE | SCRIPTS and "corpus" not in name]
    configs = [*(ROOT / "configs").glob("*.json"), *(ROOT / "configs/figures").glob("*.json")]
    files = sources + configs + [page for page in pages() if not is_report(page)]
    return [path for path in files if path.is_file() and str(path.relative_to(ROOT)) not in EXEMPT]


def check_finds_them():
    """The finder finds private wording in pages, comments and messages, and nowhere else."""
    rung = re.compile(r"\brungs?\b", re.I)
    for text in ["the last rung\n", "a line\nbroken at a rung\n"]:
        assert len(hits_in(passages_of_page(text), rung)) == 1, text
    for text in ["```\nrung\n```\n", "`rung(...)`\n", "<!-- gpuexp: variants matmul -->\na rung\n<!-- /gpuexp -->\n"]:
        assert not hits_in(passages_of_page(text), rung), text
    split = re.compile(r"\blast rung of\b")
    for text in ["// the last\n  // rung of all\n", 'f("the last rung "\n  "of all");\n']:
        assert len(hits_in(passages_of_code(text, TOKEN), split)) == 1, text
    assert not hits_in(passages_of_code("// the last\n\n// rung of all\n", TOKEN), split)
    for text in ["int rung = 1;  // the number\n", '#include "rung.hpp"\n']:
        assert not hits_in(passages_of_code(text, TOKEN), rung), text
    assert len(hits_in(passages_of_code('"""The last\nrung."""\nx = "rung"  # a rung\n', SCRIPT_TOKEN), rung)) == 2


def main():
    check_finds_them()
    show = sys.argv[2] if sys.argv[1:2] == ["--show"] else None
    texts = {path.relative_to(ROOT): passages(path) for path in searched_files()}
    failures, counts = [], collections.Counter()
    for pattern, term, accepted in patterns():
        found = [(path, line, word) for path, of_path in texts.items() for line, word in hits_in(of_path, pattern)]
        counts[pattern.pattern] = len(found)
        if len(found) > accepted or (show and show in pattern.pattern):
            failures += [f"{path}:{line}: '{word}'; the term is: {term}" for path, line, word in found]
        if len(found) != accepted:
            failures.append(f"plain_words.tsv: {len(found)} hits of {pattern.pattern}, {accepted} are accepted")
    print("\n".join(failures))
    print(f"{sum(counts.values())} hits in {len(texts)} files")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

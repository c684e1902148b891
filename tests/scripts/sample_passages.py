#!/usr/bin/env python3
"""Draws passages at random from README, docs, comments and messages, to be rated from 1 to 5 against docs/writing.md.

usage: sample_passages.py SEED [COUNT]    COUNT: 60

A passage is a paragraph, a run of comment lines or a message, of at least five words. Each is printed with file and line.
"""

import random
import sys

from plain_words_test import ROOT, passages, searched_files

MIN_WORDS = 5
FOLDERS = ("README.md", "CONTRIBUTING.md", "docs", "src", "kernels", "scripts")


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 60
    drawn_from = []
    for path in sorted(searched_files()):
        name = str(path.relative_to(ROOT))
        if name.startswith(FOLDERS):
            drawn_from += [(name, line, text) for line, text in passages(path, True)
                           if len(text.split()) >= MIN_WORDS and not text.startswith("|")]
    for name, line, text in random.Random(seed).sample(drawn_from, count):
        print(f"{name}:{line}: {text}\n")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or not all(word.isdigit() for word in sys.argv[1:]):
        sys.exit(__doc__)
    main()

#!/usr/bin/env python3
"""README, docs and CONTRIBUTING use terms that an engineer can look up (docs/glossary.md), and not words of this project's own.

Generated parts and code are left out: they hold what the program prints.
"""

import re
import sys

from numbers_in_prose_test import ROOT, is_report, pages, prose_of

# What must not stand in prose, and the term for it.
TERMS = [
    (r"\brungs?\b", "variant"),
    (r"\bturns? of (?:the |L1's )*tags?\b", "L1 tag-stage wavefronts"),
    (r"\b(?:one|32|eight|four) turns?\b|\bturns? that\b|\btakes? turns?\b", "wavefront"),
    (r"\bdeclared counters?\b|\bcounters? moved\b", "expected counter changes"),
    (r"\bstep of the clock\b|\bticks? of the clock\b", "timer resolution"),
    (r"\b(?:things?|is|are|found something) off\b(?! by| it)", "check failed"),
    (r"\bhold(?:s|ing)? the GPU\b|\bthe GPU waits? until\b", "block the stream until the launch is enqueued"),
    (r"\bcorrelated samples that tell\b", "integrated autocorrelation time"),
    (r"\bsums in (?:fp16|fp32)\b", "accumulators"),
    (r"\bbasis\b", "ceiling source"),
    (r"\bdearer\b", "costs more"),
]


def own_words(text):
    """Line, word and term of each word that stands in no glossary."""
    return [(number, match.group(), term) for number, line in enumerate(prose_of(text).split("\n"), 1)
            for pattern, term in TERMS for match in re.finditer(pattern, line, re.I)]


def check_finds_them():
    """The finder itself: what it has to find, and what it must not."""
    for text in ["the last rung\n", "turns of L1's tags\n", "exit 6 when something is off\n", "Sums in fp16 lose\n",
                 "the GPU waits until all is queued\n", "a step of the clock\n"]:
        assert len(own_words(text)) == 1, text
    for text in ["TF32 off\n", "`rung(...)`\n", "```\nrung\n```\n", "where it is off by 3\n", "in turn\n", "wrong sums\n",
                 "<!-- gpuexp: variants matmul -->\na rung\n<!-- /gpuexp -->\n"]:
        assert not own_words(text), text


def main():
    check_finds_them()
    found = [f"{path.relative_to(ROOT)}:{line}: '{word}'; the term is: {term}" for path in pages() if not is_report(path)
             for line, word, term in own_words(path.read_text())]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

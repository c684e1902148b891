#!/usr/bin/env python3
"""Lesson pages are short, show the kernel's code, a diagram and a figure, and are listed in learning order."""

import re
import unittest
from pathlib import Path

LESSONS = Path(__file__).resolve().parents[2] / "docs" / "lessons"
MAX_WORDS = 1500
DIAGRAM = re.compile(r"!\[[^]]+\]\(\.\./figures/(?:access|lanes|waves|timeline)_\w+\.png\)")
FIGURE = re.compile(r"!\[[^]]+\]\(\.\./figures/(?!access_|lanes_|waves_|timeline_)\w+\.png\)")
PARTS = re.compile(r"<!-- gpuexp: (?!results|value)[^>]*-->.*?<!-- /gpuexp -->", re.DOTALL)

# Lessons that combine what an earlier lesson explains.
PARTS_OF_LESSONS = [("coalescing", "transpose"), ("bank_conflicts", "transpose"), ("divergence", "matmul"), ("matmul", "matmul_tensor"),
                    ("matmul_tensor", "wave_quantization"), ("matmul_tensor", "mixed_precision"), ("matmul_tensor", "fusion"),
                    ("softmax", "normalization"), ("softmax", "attention"), ("matmul_tensor", "attention"), ("attention", "attention_backward"),
                    ("fusion", "training_step"), ("mixed_precision", "training_step"), ("recomputation", "training_step"),
                    ("training_step", "training_block"), ("attention_backward", "training_block"), ("normalization", "training_block"),
                    ("peer_copy", "collectives"), ("collectives", "data_parallel"), ("matmul_tensor", "tensor_parallel")]


def pages():
    return sorted(page for page in LESSONS.glob("*.md") if page.stem != "README")


def prose(text):
    """Handwritten text, without generated parts, tables, code and comments."""
    text = PARTS.sub("", text)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)


class LessonPages(unittest.TestCase):
    def test_prose_is_short(self):
        for page in pages():
            with self.subTest(page.stem):
                self.assertLessEqual(len(prose(page.read_text(encoding="utf-8")).split()), MAX_WORDS)

    def test_long_prose_is_found(self):
        text = "<!-- gpuexp: question toy -->\n" + "made " * 2000 + "\n<!-- /gpuexp -->\n| a |\n```\ncode\n```\n"
        self.assertEqual(prose(text).split(), [])
        self.assertEqual(len(prose(text + "word " * 1501).split()), 1501)

    def test_each_shows_code_a_diagram_and_a_figure(self):
        for page in pages():
            text = page.read_text(encoding="utf-8")
            with self.subTest(page.stem):
                self.assertIn("<!-- gpuexp: code ", text)
                self.assertRegex(text, DIAGRAM)
                self.assertRegex(text, FIGURE)

    def test_lessons_are_listed_from_simple_to_composed(self):
        readme = (LESSONS / "README.md").read_text(encoding="utf-8")
        listed = re.findall(r"^\| \[(\w+)\]\(\1\.md\)", readme, re.MULTILINE)
        self.assertEqual(sorted(listed), [page.stem for page in pages()])
        self.assertEqual(listed[0], "coalescing")
        for part, whole in PARTS_OF_LESSONS:
            self.assertLess(listed.index(part), listed.index(whole), f"{whole} combines {part}")

    def test_readme_lists_lessons_in_the_same_order(self):
        project = (LESSONS.parents[1] / "README.md").read_text(encoding="utf-8")
        table = re.search(r"^\| config \| contents \|\n(?:\|[^\n]*\n)+", project, re.MULTILINE).group()
        listed = re.findall(r"^\| \[(\w+)\]\(\1\.md\)", (LESSONS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(re.findall(r"\]\(docs/lessons/(\w+)\.md\)", table), listed)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Directories of src/ include only earlier ones, as docs/architecture.md shows. No two headers have the same name, units do not include
each other in a cycle, and every source includes a header that declares its definitions."""

import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
PAGE = SOURCE.parent / "docs/architecture.md"
LIBRARIES = {"foundation": ["base", "stats", "device", "family", "config"], "simulator": ["sass", "sim", "timing", "model"],
             "own_kernels": ["compile", "own", "infer"],
             "measuring": ["record", "plan", "run", "simulated", "worker"], "reporting": ["results", "analysis", "render", "lesson"]}
ROOMS = ["base", "stats", "device", "family", "config", "sass", "sim", "timing", "model", "compile", "own", "infer", "record", "plan", "run", "results",
         "analysis", "render", "lesson", "worker", "gpu", "simulated", "cli"]
FOUNDATION = set(LIBRARIES["foundation"])  # the page shows only its own includes
INCLUDE = re.compile(r'^#include "((\w+)/(\w+))\.(?:hpp|cuh)"', re.MULTILINE)


def order_of(room):
    # Executors include the run that drives them, but not what is computed from its results.
    if room in ("worker", "gpu", "simulated"):
        return ROOMS.index("run") + 0.5
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


def upward(files):
    """(file, included) for every include of a later directory; `files` maps paths below src/ to texts."""
    found = []
    for path, text in files.items():
        room = path.split("/")[0]
        for included, of, _ in INCLUDE.findall(text):
            if of in ROOMS and of != room and order_of(of) >= order_of(room):
                found.append((path, included))
    return found


def includes_of_rooms(files):
    """For each directory in the diagram of docs/architecture.md, the others that it includes, without the foundation, or for the foundation
    without base."""
    found = {room: set() for room in ROOMS if room != "cli"}
    for path, text in files.items():
        room = path.split("/")[0]
        if room in found:
            left_out = {"base"} if room in FOUNDATION else FOUNDATION
            found[room].update({of for _, of, _ in INCLUDE.findall(text) if of in ROOMS} - left_out - {room})
    return found


def pictured(page):
    return {room: set(shown.split()) for room, shown in re.findall(r"^   (\w+)  .*?(?: → (.*))?$", page, re.MULTILINE)}


def same_names(files):
    names = {}
    for path in files:
        if path.endswith(".hpp"):
            names.setdefault(path.rsplit("/", 1)[1], []).append(path)
    return [paths for paths in names.values() if len(paths) > 1]


def loops(files):
    """Units (a header and its source) that include themselves indirectly."""
    edges = {}
    for path, text in files.items():
        unit = path.rsplit(".", 1)[0]
        edges.setdefault(unit, set()).update(name for name, _, _ in INCLUDE.findall(text) if name != unit)
    found = []
    for start in edges:
        reached, front = set(), set(edges[start])
        while front:
            reached |= front
            front = set().union(*(edges.get(unit, set()) for unit in front)) - reached
        if start in reached:
            found.append(start)
    return sorted(found)


def without_header(files):
    """Sources without a header of their name that include no other header of their directory that declares what they define, as sources of
    a group do (sim/opcodes.hpp). Subcommands, cli/<name>.cpp, are exempt: cli/app.hpp declares their add_<name>."""
    declared = set(re.findall(r"\badd_(\w+)\(", files.get("cli/app.hpp", "")))
    found = []
    for path in files:
        stem, suffix = path.rsplit(".", 1)
        room, name = stem.split("/")
        if suffix != "cpp" or room not in ROOMS or stem + ".hpp" in files:
            continue
        included = [files.get(of + ".hpp", "") for of, in_room, _ in INCLUDE.findall(files[path]) if in_room == room]
        shared = set(re.findall(r"\b(\w+)\([^{}]*?\)(?: const)?;", "\n".join(included)))
        defined = set(re.findall(r"^[\w:][^\n;=]*?\b(\w+)\([^;]*?\{$", files[path], re.MULTILINE))
        if not shared & defined and (room != "cli" or name not in declared):
            found.append(path)
    return found


class RoomsTest(unittest.TestCase):
    def setUp(self):
        self.files = {str(path.relative_to(SOURCE)): path.read_text() for path in sorted(SOURCE.glob("*/*"))
                      if path.suffix in (".hpp", ".cpp", ".cu")}

    def test_every_folder_is_a_room(self):
        folders = {path.split("/")[0] for path in self.files}
        self.assertEqual(folders - set(ROOMS), {"tools"})

    def test_libraries_are_those_of_the_build(self):
        built = dict(re.findall(r"^set\((\w+)_rooms (.*)\)$", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE))
        self.assertEqual({library: rooms.split() for library, rooms in built.items()}, LIBRARIES)
        self.assertEqual({room for rooms in LIBRARIES.values() for room in rooms}, set(ROOMS) - {"gpu", "cli"})

    def test_rooms_include_only_earlier_rooms(self):
        self.assertEqual(upward(self.files), [])

    def test_the_page_shows_what_rooms_include(self):
        self.assertEqual(pictured(PAGE.read_text()), includes_of_rooms(self.files))

    def test_no_two_headers_of_one_name(self):
        self.assertEqual(same_names(self.files), [])

    def test_no_loops_between_units(self):
        self.assertEqual(loops(self.files), [])

    def test_every_source_has_a_header(self):
        self.assertEqual(without_header(self.files), [])

    def test_what_is_wrong_is_found(self):
        self.assertEqual(upward({"base/a.hpp": '#include "model/b.hpp"\n'}), [("base/a.hpp", "model/b")])
        self.assertEqual(upward({"worker/a.hpp": '#include "gpu/b.hpp"\n'}), [("worker/a.hpp", "gpu/b")])
        self.assertEqual(upward({"model/a.hpp": '#include "base/b.hpp"\n'}), [])
        self.assertEqual(includes_of_rooms({"model/a.hpp": '#include "sim/b.hpp"\n#include "base/c.hpp"\n'})["model"], {"sim"})
        self.assertEqual(pictured("   model        a time → sim sass\n   sass         listings\n"), {"model": {"sim", "sass"}, "sass": set()})
        self.assertEqual(same_names({"base/a.hpp": "", "model/a.hpp": ""}), [["base/a.hpp", "model/a.hpp"]])
        self.assertEqual(loops({"base/a.cpp": '#include "base/b.hpp"\n', "base/b.hpp": '#include "base/a.hpp"\n'}),
                         ["base/a", "base/b"])
        self.assertEqual(loops({"base/a.cpp": '#include "base/a.hpp"\n', "base/a.hpp": '#include "base/b.hpp"\n'}), [])
        self.assertEqual(without_header({"base/a.cpp": "", "base/b.cpp": "", "base/b.hpp": ""}), ["base/a.cpp"])
        app = {"cli/app.hpp": "void add_list(int);\n"}
        shared = {"base/all.hpp": "int b_of(\n    int x);\n", "base/a.cpp": '#include "base/all.hpp"\nint a_of(int x) {\n',
                  "base/b.cpp": '#include "base/all.hpp"\nint b_of(int x) {\n', "base/c.cpp": "int b_of(int x) {\n"}
        self.assertEqual(without_header(shared), ["base/a.cpp", "base/c.cpp"])
        self.assertEqual(without_header({**app, "cli/list.cpp": "", "cli/helper.cpp": ""}), ["cli/helper.cpp"])


if __name__ == "__main__":
    sys.exit(unittest.main())

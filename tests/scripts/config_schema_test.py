#!/usr/bin/env python3
"""Every config in configs/ is valid by the published schema, and broken ones are not.

Argument: the schema that `gpuexp schema` printed. Skipped without jsonschema.
"""

import copy
import json
import sys
import unittest
from pathlib import Path

from requirements import require

require("jsonschema")
import jsonschema  # noqa: E402

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
VALIDATOR = None


class ConfigSchema(unittest.TestCase):
    def test_configs_are_valid(self):
        files = sorted(CONFIGS.glob("*.json")) + sorted(CONFIGS.glob("figures/*.json"))
        self.assertGreaterEqual(len(files), 8)
        for file in files:
            with self.subTest(file.name):
                VALIDATOR.validate(json.loads(file.read_text()))

    def check_mistakes(self, file, mistakes):
        good = json.loads((CONFIGS / file).read_text())
        VALIDATOR.validate(good)
        for name, change in mistakes.items():
            broken = copy.deepcopy(good)
            change(broken)
            with self.subTest(name), self.assertRaises(jsonschema.ValidationError):
                VALIDATOR.validate(broken)

    def test_mistakes_are_not(self):
        mistakes = {
            "unknown key": lambda c: c.update(sed=7),
            "wrong type": lambda c: c.update(seed="seven"),
            "no experiments": lambda c: c.update(experiments=[]),
            "unknown family": lambda c: c["experiments"][0].update(family="matmull"),
            "unknown axis": lambda c: c["experiments"][0]["axes"].update(q=[1]),
            "empty axis": lambda c: c["experiments"][0]["axes"].update(n=[]),
            "out of range": lambda c: c["experiments"][0]["axes"].update(n=[0]),
            "unknown mode": lambda c: c["experiments"][0].update(modes=["hot"]),
        }
        self.check_mistakes("matmul.json", mistakes)

    def test_mistakes_in_figures_are_not(self):
        def claim(config):
            return config["figures"][0]["claims"][0]

        mistakes = {
            "no figures": lambda c: c.update(figures=[]),
            "unknown key": lambda c: c["figures"][0].update(titel="x"),
            "no source": lambda c: c["figures"][0].pop("source"),
            "no claims": lambda c: c["figures"][0].update(claims=[]),
            "no number": lambda c: claim(c).pop("published"),
            "number below 0": lambda c: claim(c).update(published=-1),
            "band of one end": lambda c: claim(c).update(band=[1]),
            "row without a variant": lambda c: claim(c).update(rows={"experiment": "ladder"}),
            "unknown mode": lambda c: claim(c).update(rows={"experiment": "ladder", "variant": "naive", "mode": "hot"}),
        }
        self.check_mistakes("figures/matmul_ladder.json", mistakes)


if __name__ == "__main__":
    schema = json.loads(Path(sys.argv.pop(1)).read_text())
    VALIDATOR = jsonschema.validators.validator_for(schema)(schema)
    VALIDATOR.check_schema(schema)
    unittest.main()

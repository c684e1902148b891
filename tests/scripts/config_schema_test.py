#!/usr/bin/env python3
"""Every config in configs/ is valid by the published schema, and broken ones are not.

Argument: the schema that `gpuexp schema` printed. Skipped where jsonschema is missing.
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
        files = sorted(CONFIGS.glob("*.json"))
        self.assertGreaterEqual(len(files), 8)
        for file in files:
            with self.subTest(file.name):
                VALIDATOR.validate(json.loads(file.read_text()))

    def test_mistakes_are_not(self):
        good = json.loads((CONFIGS / "matmul.json").read_text())
        VALIDATOR.validate(good)

        def broken(change):
            config = copy.deepcopy(good)
            change(config)
            return config

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
        for name, change in mistakes.items():
            with self.subTest(name), self.assertRaises(jsonschema.ValidationError):
                VALIDATOR.validate(broken(change))


if __name__ == "__main__":
    schema = json.loads(Path(sys.argv.pop(1)).read_text())
    VALIDATOR = jsonschema.validators.validator_for(schema)(schema)
    VALIDATOR.check_schema(schema)
    unittest.main()

#!/usr/bin/env python3
"""Writes configs/all.json: the experiments of every lesson on one GPU, each named <lesson>.<experiment>.

Run it after changing a lesson's config; a test fails while all.json is not what it would write.
"""

import json
import pathlib

CONFIGS = pathlib.Path(__file__).resolve().parent.parent / "configs"
NOT_LESSONS = {"all", "back_to_back", "ceilings", "links", "predicted", "quickstart", "repeat", "unmeasured", "unseen", "unseen_copies"}
# All of their cells would be skipped on a machine with one GPU.
SPAN_GPUS = {"collectives", "data_parallel", "mlp_parallel", "peer_copy", "peer_latency", "pipeline_parallel", "tensor_parallel"}


def lessons():
    paths = sorted(p for p in CONFIGS.glob("*.json") if p.stem not in NOT_LESSONS | SPAN_GPUS)
    return {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in paths}


def experiments():
    for lesson, config in lessons().items():
        for experiment in config["experiments"]:
            name = experiment.get("name", experiment["family"])
            yield {**experiment, "name": f"{lesson}.{name}"}


def main():
    config = {
        "$schema": "schema/experiment.schema.json",
        "name": "all",
        "description": "Every experiment of every lesson; written by scripts/make_all_config.py.",
        "seed": 7,
        "experiments": list(experiments()),
    }
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (CONFIGS / "all.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Machine code of the programs, compared with the instructions that the simulator decodes."""

import collections
import re

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9a-z_.]*)")
# Units of the simulator that programs without tensor cores, bulk copies and clusters do not use.
_OTHER_UNITS = {"matrix_ops", "bulk_ops", "warpgroup_ops"}


def opcodes_of(listings):
    counts = collections.Counter()
    for listing in listings:
        with open(listing, encoding="utf-8") as lines:
            for line in lines:
                found = _INSTRUCTION.match(line)
                if found:
                    counts[found[1]] += 1
    return counts


def known_to(simulator):
    """Per unit of the simulator, its mnemonics and the modifiers that its decoders test."""
    units = {}
    for source in sorted(simulator.glob("*_ops.cpp")):
        text = source.read_text(encoding="utf-8")
        mnemonics = re.findall(r'\{"([A-Z][A-Z0-9]+)",\s*decode_', text)
        units[source.stem] = (mnemonics, sorted(set(re.findall(r'\.has\("(\w+)"\)', text))))
    return units


def report(simulator, listings):
    counts = opcodes_of(listings)
    mnemonics, modifiers = collections.Counter(), collections.defaultdict(collections.Counter)
    for opcode, count in counts.items():
        parts = opcode.split(".")
        mnemonics[parts[0]] += count
        for part in parts[1:]:
            modifiers[parts[0]][part] += count
    known = known_to(simulator)
    all_known = {mnemonic for its, _ in known.values() for mnemonic in its}
    print(f"{sum(counts.values())} instructions, {len(counts)} opcodes with modifiers, {len(mnemonics)} without")
    print("\nin programs, unknown to the simulator:")
    for mnemonic in sorted(set(mnemonics) - all_known):
        forms = [opcode for opcode in counts if opcode.split(".")[0] == mnemonic]
        print(f"  {mnemonic} {mnemonics[mnemonic]}: {' '.join(sorted(forms))}")
    print("\nknown to the simulator, in no program:")
    for unit, (its, tested) in known.items():
        if unit in _OTHER_UNITS:
            continue
        missing = [mnemonic for mnemonic in its if mnemonic not in mnemonics]
        seen = {part for mnemonic in its for part in modifiers[mnemonic]}
        print(f"  {unit}: {' '.join(missing) or '-'}; modifiers {' '.join(sorted(set(tested) - seen)) or '-'}")
    print("\nopcodes:")
    for mnemonic in sorted(mnemonics):
        forms = sorted(opcode for opcode in counts if opcode.split(".")[0] == mnemonic)
        print("  " + ", ".join(f"{form} {counts[form]}" for form in forms))

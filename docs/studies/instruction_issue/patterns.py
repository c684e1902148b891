#!/usr/bin/env python3
"""Kernels that repeat a pattern of eight machine instructions, and the cycles that each instruction takes.

    patterns.py kernels FOLDER    writes patterns.cubin and patterns.gpuexp.json to FOLDER (needs nvcc)
    patterns.py table RESULTS     prints the table of issue.csv from results.csv of
                                  gpuexp run FOLDER/patterns.gpuexp.json --csv RESULTS

CUDA has no assembler, so loop.cu is compiled once for each pattern, and its 128 FFMA instructions are replaced.
The replaced instructions write R16 to R23 and read R4 to R15, which hold none of the loop's variables.
"""
import csv
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent.resolve()
RZ = 255  # reads as 0, and needs no register bank
STEPS = 128
ITERATIONS = 400
WARPS = {1: 128, 8: 1024}  # threads of a block by warps of each of its SM's four schedulers
FFMA_OPCODE = 0x223
BLOCKS = 132


def instruction(low, high, stall=1, stays=True, reuse=""):
    """The encoding in two words: `stall` cycles until the warp's next instruction may issue, `stays` if the
    scheduler prefers the warp, and the operands a, b or c that are kept for reuse."""
    control = (stall << 41) | (int(stays) << 45) | (7 << 46) | (7 << 49)
    for operand in reuse:
        control |= 1 << (58 + "abc".index(operand))
    return low, high | control


def three_registers(opcode, high):
    def make(to, a, b, c=RZ, **control):
        return instruction(opcode | 0x7000 | to << 16 | a << 24 | b << 32, high | c, **control)
    return make


def one_register(low, high):
    def make(to, a, **control):
        return instruction(low | to << 16 | a << 24, high, **control)
    return make


ffma = three_registers(FFMA_OPCODE, 0)
lop3 = three_registers(0x212, 0x078e9600)
imad = three_registers(0x224, 0x078e0200)
wide = three_registers(0x225, 0x078e0200)  # IMAD.WIDE
high = three_registers(0x227, 0x078e0200)  # IMAD.HI
hfma2 = three_registers(0x231, 0)
hfma2_mma = three_registers(0x235, 0)
vimnmx3 = three_registers(0x20f, 0x03800100)
viadd = one_register(0x0000000200007836, 0)
vote = one_register(0x7806, 0x010e0100)
redux = one_register(0x73c4, 0xc200)  # writes a uniform register


def fadd(to, a, b, **control):
    return instruction(0x7221 | to << 16 | a << 24 | b << 32, 0, **control)


def hadd2_f32(to, b, **control):
    return instruction(0x20000000ff007230 | to << 16 | b << 32, 0x4100, **control)


def even(i):
    return 4 + 2 * (i % 6)


def odd(i):
    return 5 + 2 * (i % 6)


def to(i):
    return 16 + i % 8


def pair(i):
    return 16 + 2 * (i % 4)


def eight(make):
    return [make(i) for i in range(8)]


def in_turn(*makes):
    return eight(lambda i: makes[i % len(makes)](i))


def ffma_of(*banks):
    """FFMA whose operands are in the banks, "e" for even and "o" for odd."""
    registers = {"e": even, "o": odd}
    return lambda i: ffma(to(i), *(registers[b](i + k) for k, b in enumerate(banks)))


def plain_ffma(i):
    return ffma(pair(i) + 1, even(i), odd(i))


def plain_lop3(i):
    return lop3(pair(i) + 1, even(i), odd(i))


def wide_sum(i):
    return wide(pair(i), 4 + 2 * (i % 4), RZ, 12)


def wide_product(i):
    return wide(pair(i), even(i), odd(i))


def blocks_of_four(first, second):
    return eight(lambda i: first(i) if i < 4 else second(i))


# Name and description of each pattern, and its instructions.
PATTERNS = {
    "ffma": ("FFMA, two operands in different banks", eight(plain_ffma)),
    "ffma_even_even": ("FFMA, two operands in one bank", eight(lambda i: ffma(to(i), even(i), even(i + 1)))),
    "ffma_eeo": ("FFMA, two operands in one bank and one in the other", eight(ffma_of("e", "e", "o"))),
    "ffma_eee": ("FFMA, three operands in one bank", eight(ffma_of("e", "e", "e"))),
    "ffma_same": ("FFMA, one register as all three operands", eight(lambda i: ffma(to(i), even(i), even(i), even(i)))),
    "ffma_eeo_ooe": ("FFMA, the bank of two operands alternates", in_turn(ffma_of("e", "e", "o"), ffma_of("o", "o", "e"))),
    "ffma_eee_ooo": ("FFMA, the bank of three operands alternates", in_turn(ffma_of("e", "e", "e"), ffma_of("o", "o", "o"))),
    "ffma_eeo_4": ("FFMA, the bank of two operands alternates after four instructions",
                   blocks_of_four(ffma_of("e", "e", "o"), ffma_of("o", "o", "e"))),
    "ffma_eee_4": ("FFMA, the bank of three operands alternates after four instructions",
                   blocks_of_four(ffma_of("e", "e", "e"), ffma_of("o", "o", "o"))),
    "reuse_a": ("FFMA, three operands in one bank, one kept for reuse",
                eight(lambda i: ffma(to(i), 4, 6 + 2 * (i % 5), 6 + 2 * ((i + 1) % 5), reuse="a"))),
    "reuse_ab": ("FFMA, three operands in one bank, two kept for reuse",
                 eight(lambda i: ffma(to(i), 4, 6, 8 + 2 * (i % 4), reuse="ab"))),
    "reuse_other_warps": ("as above, but each instruction pauses for a cycle and lets other warps issue",
                          eight(lambda i: ffma(to(i), 4, 6, 8 + 2 * (i % 4), reuse="ab", stall=2, stays=False))),
    "reuse_two_banks": ("FFMA, at one position, a register of each bank kept for reuse in turn",
                        eight(lambda i: ffma(to(i), 4 + i % 2, 6 + 2 * (i % 5), odd(i + 1), reuse="a"))),
    "fadd_even_even": ("FADD, both operands in one bank", eight(lambda i: fadd(to(i), even(i), even(i + 1)))),
    "lop3_eee": ("LOP3, three operands in one bank", eight(lambda i: lop3(to(i), even(i), even(i + 1), even(i + 2)))),
    "lop3_eoe_ffma_eoe": ("LOP3 and FFMA, two operands in the same bank",
                          in_turn(lambda i: lop3(to(i), even(i), odd(i), even(i + 1)), ffma_of("e", "o", "e"))),
    "wide": ("IMAD.WIDE without sum", eight(wide_product)),
    "wide_sum": ("IMAD.WIDE with sum", eight(wide_sum)),
    "high": ("IMAD.HI", eight(lambda i: high(to(i), even(i), odd(i)))),
    "wide_lop3": ("IMAD.WIDE without sum, LOP3", in_turn(wide_product, plain_lop3)),
    "wide_3_lop3": ("IMAD.WIDE without sum, 3 LOP3", in_turn(wide_product, plain_lop3, plain_lop3, plain_lop3)),
    "wide_ffma": ("IMAD.WIDE without sum, FFMA", in_turn(wide_product, plain_ffma)),
    "wide_3_ffma": ("IMAD.WIDE without sum, 3 FFMA", in_turn(wide_product, plain_ffma, plain_ffma, plain_ffma)),
    "wide_sum_lop3": ("IMAD.WIDE with sum, LOP3", in_turn(wide_sum, plain_lop3)),
    "wide_sum_3_lop3": ("IMAD.WIDE with sum, 3 LOP3", in_turn(wide_sum, plain_lop3, plain_lop3, plain_lop3)),
    "wide_sum_ffma": ("IMAD.WIDE with sum, FFMA", in_turn(wide_sum, plain_ffma)),
    "wide_sum_3_ffma": ("IMAD.WIDE with sum, 3 FFMA", in_turn(wide_sum, plain_ffma, plain_ffma, plain_ffma)),
    "wide_sum_imad": ("IMAD.WIDE with sum, IMAD", in_turn(wide_sum, lambda i: imad(to(i), even(i), odd(i)))),
    "high_3_lop3": ("IMAD.HI, 3 LOP3", in_turn(lambda i: high(pair(i), even(i), odd(i)), plain_lop3, plain_lop3, plain_lop3)),
    "viadd": ("VIADD", eight(lambda i: viadd(to(i), even(i)))),
    "viadd_ffma": ("VIADD, FFMA", in_turn(lambda i: viadd(pair(i), even(i)), plain_ffma)),
    "hfma2": ("HFMA2", eight(lambda i: hfma2(to(i), even(i), odd(i)))),
    "hfma2_ffma": ("HFMA2, FFMA", in_turn(lambda i: hfma2(pair(i), even(i), odd(i)), plain_ffma)),
    "hfma2_mma": ("HFMA2.MMA", eight(lambda i: hfma2_mma(to(i), even(i), odd(i)))),
    "hfma2_mma_ffma": ("HFMA2.MMA, FFMA", in_turn(lambda i: hfma2_mma(pair(i), even(i), odd(i)), plain_ffma)),
    "hadd2_f32": ("HADD2.F32", eight(lambda i: hadd2_f32(to(i), even(i)))),
    "hadd2_f32_ffma": ("HADD2.F32, FFMA", in_turn(lambda i: hadd2_f32(pair(i), even(i)), plain_ffma)),
    "hadd2_f32_imad": ("HADD2.F32, IMAD", in_turn(lambda i: hadd2_f32(pair(i), even(i)), lambda i: imad(to(i), even(i), odd(i)))),
    "vimnmx3": ("VIMNMX3", eight(lambda i: vimnmx3(to(i), even(i), odd(i), odd(i)))),
    "vimnmx3_lop3": ("VIMNMX3, LOP3", in_turn(lambda i: vimnmx3(pair(i), even(i), odd(i), odd(i)), plain_lop3)),
    "vote": ("VOTE", eight(lambda i: vote(to(i), 0))),
    "vote_lop3": ("VOTE, LOP3", in_turn(lambda i: vote(pair(i), 0), plain_lop3)),
    "redux": ("REDUX", eight(lambda i: redux(8, even(i)))),
}


def replace_ffma(data):
    """Replaces the instructions of each kernel's loop in an ELF file."""
    section_table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3a)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, section_table + i * size) for i in range(count)]
    for name_at, _, _, _, offset, length, *_ in sections:
        begin = sections[names][4] + name_at
        name = data[begin:data.index(b"\0", begin)].decode()
        if not name.startswith(".text."):
            continue
        places = [at for at in range(offset, offset + length, 16)
                  if struct.unpack_from("<Q", data, at)[0] & 0xfff == FFMA_OPCODE]
        if len(places) != STEPS:
            sys.exit(f"{name} has {len(places)} FFMA instructions, not {STEPS}")
        for i, at in enumerate(places):
            struct.pack_into("<QQ", data, at, *PATTERNS[name[len(".text.loop_"):]][1][i % 8])


def write_kernels(folder):
    source = (HERE / "loop.cu").read_text()
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "patterns.cu"
        file.write_text("\n".join(source.replace("KERNEL", f"loop_{name}") for name in PATTERNS))
        subprocess.run(["nvcc", "-cubin", "-arch=sm_90", "-O3", str(file), "-o", f"{place}/patterns.cubin"], check=True)
        data = bytearray(pathlib.Path(place, "patterns.cubin").read_bytes())
    replace_ffma(data)
    (folder / "patterns.cubin").write_bytes(data)
    variants = {f"{name}_{warps}": f"loop_{name}<<<blocks, {threads}>>>(iterations, out)"
                for name in PATTERNS for warps, threads in WARPS.items()}
    declaration = {"source": "patterns.cubin", "parameters": {"blocks": BLOCKS, "iterations": ITERATIONS},
                   "buffers": {"out": "float [blocks*1024]"}, "variants": variants}
    (folder / "patterns.gpuexp.json").write_text(json.dumps(declaration, indent=2) + "\n")


def print_table(results):
    with open(results, newline="") as file:
        rows = {row["variant"]: row for row in csv.DictReader(file)}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["instructions", *(f"{what}_{w}" for w in WARPS for what in ("cycles", "predicted"))])
    for name, (what, _) in PATTERNS.items():
        cells = []
        for warps in WARPS:
            row = rows[f"{name}_{warps}"]
            for column in ("time_median_us", "predicted_time_us"):
                us = float(row[column]) - float(row["floor_us"])
                cells.append(f"{us * float(row['sm_clock_mhz']) / (ITERATIONS * STEPS * warps):.2f}")
        writer.writerow([what, *cells])


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("kernels", "table"):
        sys.exit(__doc__)
    if sys.argv[1] == "kernels":
        write_kernels(pathlib.Path(sys.argv[2]))
    else:
        print_table(sys.argv[2])


if __name__ == "__main__":
    main()

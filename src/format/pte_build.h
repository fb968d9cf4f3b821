// src/format/pte_build.h - writes pte::Program as a .pte file. Depends on pte.h, pieces.h.
#pragma once

#include "format/pte.h"

namespace edgewright::pte {

// The data of the file to build, parallel to Program's lists but made of pieces, so that nothing large is copied.
// Program::constants, mutable_data, payloads and named_blobs are ignored; NamedData::blob and Delegate::payload index these.
// Borrowed bytes must live until the result is written. Sharing equal data is the caller's work.
struct Blobs {
  std::vector<Bytes> constants;     // [0] must be empty; may be wholly absent
  std::vector<Bytes> mutable_data;  // [0] must be empty; may be wholly absent
  std::vector<Pieces> payloads;
  std::vector<Pieces> named;
};

// The whole file as pieces, in order: flatbuffer with extended header, then aligned segments. Write it with
// `write_file(path, [&](FileWriter& w) { return pieces.write(w); })` or join() it to run from memory.
// Errors: kInternal when an index is out of range or the flatbuffer would pass 2 GB.
Result<Pieces> build(const Program& program, Blobs blobs);

}  // namespace edgewright::pte

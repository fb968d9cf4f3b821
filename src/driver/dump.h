// src/driver/dump.h - a program's text form as files: STEM.ir, and STEM.safetensors for constants too large to stand inline.
#pragma once

#include <string>

#include "ir/graph.h"

namespace edgewright::driver {

// Errors: kUsage where a file cannot be written.
Result<void> dump(const std::string& stem, const ir::Program& p);

}  // namespace edgewright::driver

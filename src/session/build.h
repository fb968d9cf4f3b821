// src/session/build.h - compiling as a command: files in, a file or a report out. Depends on driver, passes.
#pragma once

#include "driver/compile.h"

namespace edgewright::session {

// Compiles `inputs` (all methods of each, or of the model named) into `output`, all or nothing. `methods`: NAME=FILE gives the method of
// one of several inputs a name; without it, it is called after its file where names would be equal. Errors name the file: those of
// reading and of driver::compile; kUsage for an unknown pass among the disabled, a name for no input, and an output that cannot be
// written.
Result<driver::CompileReport> compile_files(const std::vector<std::string>& inputs,
                                            const std::vector<std::string>& methods, const std::string& output,
                                            const std::string& model, const driver::CompileOptions& o);

// What compiling one method would do, without writing anything. The same errors.
Result<driver::CompileReport> explain(const std::string& input, const std::string& model, const std::string& method,
                                      const driver::CompileOptions& o);

// Runs passes over a graph in text form ("-": standard input; @names stand in GRAPH.safetensors beside GRAPH.ir) and prints
// it. `further`: passes that may be named beside those of the table.
// Errors: kMalformed with line and column, kUsage for an unknown pass, kInternal where a rewrite fails its check.
Result<std::string> optimize_text(const std::string& path, const std::vector<std::string>& passes,
                                  passes::Verify verify, const std::vector<passes::PassDef>& further = {});

}  // namespace edgewright::session

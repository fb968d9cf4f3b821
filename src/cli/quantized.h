// src/cli/quantized.h - the options that ask for quantizing, and what is said about it. Depends on session.
#pragma once

#include "session/json.h"
#include "session/quantize.h"

namespace CLI {
class App;
}

namespace edgewright::cli {

void add_quantizing(CLI::App* command, session::QuantizeRequest& request);
// Nothing where nothing was quantized.
void print_quantized(const std::vector<session::QuantizedMethod>& methods);
// "quantized": [...], one entry for each method.
void write_quantized(session::JsonWriter& j, const std::vector<session::QuantizedMethod>& methods);

}  // namespace edgewright::cli

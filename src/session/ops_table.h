// src/session/ops_table.h - what is known of each op, as the table of docs/ops.md. Depends on ops, write, runtime.
#pragma once

#include <string>

namespace edgewright::session {

// One line per definition, in Markdown: op, how it is compiled where nothing runs it as it is, our kernel, the stock runtime's, XNNPACK.
std::string ops_table();

}  // namespace edgewright::session

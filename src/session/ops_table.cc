#include "session/ops_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ops/op_def.h"
#include "runtime/kernel.h"
#include "write/stock_operators.h"

namespace edgewright::session {

std::string ops_table() {
  std::vector<const ops::OpDef*> all;
  for (const ops::OpDef& d : ops::table())
    if (!d.functional) all.push_back(&d);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::string out =
      "| op | decomposed | our kernel | stock kernel | XNNPACK |\n"
      "|---|---|---|---|---|\n";
  for (const ops::OpDef* d : all) {
    const auto mark = [](bool b) { return b ? "yes" : ""; };
    const bool ours = !d->stock.empty() && runtime::find_kernel(d->stock);
    const bool stock = !d->stock.empty() && write::stock_has(d->stock);
    out += fmt::format("| {} | {} | {} | {} | {} |\n", d->name, mark(d->decompose != nullptr), ours ? d->stock : "",
                       stock ? (ours ? "the same" : d->stock) : "", mark(d->lower != nullptr));
  }
  return out;
}

}  // namespace edgewright::session

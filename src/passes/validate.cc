#include "passes/validate.h"

namespace edgewright::passes {

std::optional<std::string> Validator::check(const PassDef& pass, const Rewriter& rw) {
  return std::nullopt;
}

}  // namespace edgewright::passes

// src/session/compare.cc - leaves held against one another.
#include "interp/compare.h"

#include <algorithm>
#include <cmath>

#include "session/check.h"
#include "session/convert.h"

namespace edgewright::session {
namespace {

interp::Tolerance tolerance_for(const Tolerance& t, DType d) {
  const interp::Tolerance by_dtype = interp::default_tolerance(d);
  if (!is_float(d) && !is_complex(d)) return by_dtype;
  return {t.atol.value_or(by_dtype.atol), t.rtol.value_or(by_dtype.rtol)};
}

}  // namespace

Measure compare(const Value& a, const Value& b, const Tolerance& tolerance) {
  Measure m;
  const HostTensor *x = tensor_of(a), *y = tensor_of(b);
  if (x && y) {
    const interp::Comparison c = interp::compare(to_graph(*x), to_graph(*y), tolerance_for(tolerance, y->dtype));
    return {c.agrees(), c.max_abs, c.max_rel, c.sqnr_db, c.different, c.agrees() ? "" : c.str()};
  }
  // Python's numbers are 64 bits wide.
  const auto *f = std::get_if<double>(&a), *g = std::get_if<double>(&b);
  if (f && g) return compare(f64({}, {*f}), f64({}, {*g}), tolerance);
  m.agree = a.index() == b.index() && describe(a) == describe(b);
  m.sqnr_db = m.agree ? INFINITY : NAN;
  if (!m.agree) m.problem = describe(a) + " against " + describe(b);
  return m;
}

bool OutputCheck::agree() const {
  for (const auto* m : {&compiled_interpreter, &compiled_expected, &interpreter_expected})
    if (*m && !(*m)->agree) return false;
  return true;
}

bool CheckResult::agree() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const OutputCheck& o) { return o.agree(); });
}

std::vector<OutputCheck> compare_expected(size_t call, const Signature& s, const std::vector<Value>& outputs,
                                          const std::map<size_t, Value>& expected, const Tolerance& tolerance) {
  std::vector<OutputCheck> all;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto it = expected.find(i);
    const bool is_tensor = tensor_of(outputs[i]) != nullptr;
    if (it == expected.end() && !is_tensor) continue;
    OutputCheck& o = all.emplace_back();
    o.call = call;
    o.output = i;
    o.name = i < s.outputs.size() ? s.outputs[i].name : "";
    o.type = describe(outputs[i]);
    if (it != expected.end()) {
      o.compiled_expected = compare(outputs[i], it->second, tolerance);
    } else {
      o.compiled_expected.emplace();
      o.compiled_expected->agree = false;
      o.compiled_expected->problem = "the file of expected outputs does not hold it";
    }
  }
  return all;
}

}  // namespace edgewright::session

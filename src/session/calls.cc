// src/session/calls.cc - gathers the inputs of calls.
#include "session/calls.h"

#include <cstring>
#include <random>

#include "ir/tensor.h"

namespace edgewright::session {
namespace {

constexpr int64_t kSmallSize = 4;
// Beyond this many bytes nobody wants inputs made up.
constexpr int64_t kLargest = int64_t{1} << 32;

std::string file_list(const std::vector<std::string>& files) {
  return files.size() == 1 ? files[0] : fmt::format("{} to {}", files.front(), files.back());
}

// Expected tensors by output leaf: .npy files stand for the tensor outputs in order.
Result<std::map<size_t, Value>> place_expected(const Signature& s, const std::vector<std::string>& files) {
  EW_ASSIGN(Inputs given, read_inputs(files));
  size_t next = 0;
  for (HostTensor& t : given.in_order) {
    while (next < s.outputs.size() && s.outputs[next].kind != LeafKind::kTensor) ++next;
    if (next == s.outputs.size()) return fail(Code::kUsage, "more tensors are expected than the program returns");
    given.by_number[next++] = std::move(t);
  }
  for (const auto& [i, v] : given.by_number) {
    if (i >= s.outputs.size())
      return fail(Code::kUsage, "output {} is expected, the program returns {}", i, s.outputs.size());
    if (s.outputs[i].kind != LeafKind::kTensor)
      return fail(Code::kUsage, "a tensor is expected as output {}, which is {}", i, s.outputs[i].str());
  }
  return std::move(given.by_number);
}

ir::SymbolValues small_symbols(const Signature& s) {
  ir::SymbolValues values;
  std::vector<std::string> names;
  for (const LeafSpec& in : s.inputs) {
    for (const ir::Dim& d : in.shape) d.collect_symbols(names);
    if (in.expr) in.expr->collect_symbols(names);
  }
  const bool is_bound = !s.inputs.empty() && s.inputs[0].name.empty();  // of a .pte
  for (const std::string& n : names) {
    const auto it = s.ranges.find(n);
    const ir::Range r = it == s.ranges.end() ? ir::Range() : it->second;
    values[n] = is_bound && r.hi != ir::kMaxDim ? r.hi : std::clamp(kSmallSize, r.lo, r.hi);
  }
  return values;
}

}  // namespace

Result<std::vector<Value>> invent_inputs(const Signature& s, uint64_t seed) {
  const ir::SymbolValues symbols = small_symbols(s);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0F, 0.5F);
  std::vector<Value> all;
  for (const LeafSpec& spec : s.inputs) {
    if (spec.may_be_omitted) {
      all.push_back(spec.fixed.value_or(Value()));
      continue;
    }
    switch (spec.kind) {
      case LeafKind::kTensor: {
        std::vector<int64_t> sizes;
        for (const ir::Dim& d : spec.shape) sizes.push_back(d.evaluate(symbols).value_or(kSmallSize));
        const auto n = checked_numel(sizes);
        if (!n || *n > kLargest / static_cast<int64_t>(size_of(spec.dtype)))
          return fail(Code::kUsage, "an input of {} is too large to be made up: give --inputs", spec.str());
        std::vector<std::byte> data(static_cast<size_t>(*n) * size_of(spec.dtype));
        if (is_float(spec.dtype))
          for (int64_t i = 0; i < *n; ++i) ir::store_f(spec.dtype, data.data(), i, normal(random));
        all.emplace_back(HostTensor::owned(spec.dtype, std::move(sizes), std::move(data)));
        break;
      }
      case LeafKind::kInt: all.emplace_back(spec.expr ? spec.expr->evaluate(symbols).value_or(1) : int64_t{1}); break;
      case LeafKind::kFloat: all.emplace_back(0.5); break;
      case LeafKind::kBool: all.emplace_back(false); break;
      case LeafKind::kString: all.emplace_back(std::string()); break;
      case LeafKind::kNone: all.emplace_back(); break;
    }
  }
  EW_TRY(check(s, all));
  return all;
}

Result<std::vector<CallInputs>> gather(const Signature& s, const CallFiles& files,
                                       const std::optional<std::vector<Value>>& samples) {
  if (!files.expected.empty() && files.expected.size() != std::max<size_t>(files.inputs.size(), 1))
    return fail(Code::kUsage, "{} calls, but --expect is given {} times", std::max<size_t>(files.inputs.size(), 1),
                files.expected.size());
  Inputs scalars;
  for (const std::string& text : files.scalars) EW_TRY(add_scalar(scalars, text));
  std::vector<CallInputs> calls;
  for (const auto& one : files.inputs) {
    EW_ASSIGN(Inputs given, read_inputs(one));
    given.by_key = scalars.by_key;
    auto placed = place(s, given);
    if (!placed)
      return one.empty() ? Result<std::vector<CallInputs>>(std::unexpected(std::move(placed.error())))
                         : with_note(std::move(placed.error()), file_list(one));
    calls.push_back({std::move(*placed), std::nullopt});
  }
  if (files.inputs.empty()) {
    std::vector<Value> leaves;
    if (samples) {
      // Scalars that were given replace the sample's.
      Inputs given = scalars;
      for (size_t i = 0; i < samples->size(); ++i) {
        const bool replaced = given.by_key.contains(std::to_string(i)) ||
                              (i < s.inputs.size() && given.by_key.contains(s.inputs[i].name));
        if (!replaced) given.by_number[i] = (*samples)[i];
      }
      EW_ASSIGN(leaves, place(s, given));
    } else if (auto placed = place(s, scalars)) {
      leaves = std::move(*placed);
    } else if (files.invent && files.scalars.empty()) {
      EW_ASSIGN(leaves, invent_inputs(s, 1));
    } else {
      placed.error().message += "; give --inputs";
      return std::unexpected(std::move(placed.error()));
    }
    calls.push_back({std::move(leaves), std::nullopt});
  }
  for (size_t i = 0; i < files.expected.size(); ++i) {
    auto expected = place_expected(s, files.expected[i]);
    if (!expected) return with_note(std::move(expected.error()), file_list(files.expected[i]));
    calls[i].expected = std::move(*expected);
  }
  return calls;
}

}  // namespace edgewright::session

// src/session/quantize.cc - finds the inputs to calibrate and to measure with.
#include "session/quantize.h"

#include <algorithm>

#include "session/convert.h"

namespace edgewright::session {

Result<void> request_quantizing(driver::CompileOptions& o, const QuantizeRequest& r,
                                std::vector<QuantizedMethod>& done) {
  if (r.scheme.empty()) {
    if (!r.calibrate.empty() || !r.keep.empty() || r.min_sqnr)
      return fail(Code::kUsage, "--calibrate, --keep and --min-sqnr go with --quantize SCHEME");
    return {};
  }
  EW_ASSIGN(const quantize::Scheme scheme, quantize::scheme_of(r.scheme));
  if (scheme == quantize::Scheme::kStaticInt8 && r.calibrate.empty())
    return fail(Code::kUsage, "{} takes its scales from inputs: give --calibrate F.safetensors", r.scheme);
  quantize::Options options{.scheme = scheme,
                            .keep = r.keep,
                            .min_sqnr = r.min_sqnr,
                            .verify = o.verify,
                            .disabled = o.disabled,
                            .progress = o.progress};
  o.prepare = [options, files = r.calibrate, &done](ir::Program& p, passes::PassLog& log) -> Result<void> {
    const Signature s = signature_of(p);
    std::optional<std::vector<Value>> samples;
    if (p.sample_inputs) samples = to_values(*p.sample_inputs);
    CallFiles given;
    for (const std::string& f : files) given.inputs.push_back({f});
    given.invent = true;
    EW_ASSIGN(const std::vector<CallInputs> inputs, gather(s, given, samples));
    std::vector<quantize::Call> calls;
    for (const CallInputs& one : inputs) {
      quantize::Call& call = calls.emplace_back();
      for (const Value& v : one.inputs) call.push_back(to_datum(v));
    }
    QuantizedMethod m{.method = p.method};
    m.invented = files.empty() && !samples &&
                 std::any_of(s.inputs.begin(), s.inputs.end(), [](const LeafSpec& l) { return !l.may_be_omitted; });
    EW_ASSIGN(m.report, quantize::quantize(p, calls, options));
    const passes::PassLog& made = m.report.passes;
    log.events.insert(log.events.end(), made.events.begin(), made.events.end());
    log.stats.insert(log.stats.end(), made.stats.begin(), made.stats.end());
    log.faults += made.faults;
    done.push_back(std::move(m));
    return {};
  };
  return {};
}

}  // namespace edgewright::session

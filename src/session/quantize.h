// src/session/quantize.h - quantizing as a part of compiling: from what a command line names to driver::CompileOptions::prepare.
// Depends on quantize, calls.h.
#pragma once

#include "driver/compile.h"
#include "quantize/quantize.h"
#include "session/calls.h"

namespace edgewright::session {

struct QuantizeRequest {
  std::string scheme;                  // empty: nothing is quantized
  std::vector<std::string> calibrate;  // a .safetensors (or a .npy for a single tensor) for each call
  std::vector<std::string> keep;
  std::optional<double> min_sqnr;
};

struct QuantizedMethod {
  std::string method;
  bool invented = false;  // inputs were made up: what was measured on them says little
  quantize::Report report;
};

// Sets `o.prepare` to quantize each program; `done` gets a report for each and must outlive it. Static schemes need `calibrate`;
// otherwise the sample inputs are measured on, or made-up ones. Errors, here and from prepare: those of quantize::quantize, of
// gather(), kUsage (an unknown scheme, other options without one, a static one without inputs).
Result<void> request_quantizing(driver::CompileOptions& o, const QuantizeRequest& request,
                                std::vector<QuantizedMethod>& done);

}  // namespace edgewright::session

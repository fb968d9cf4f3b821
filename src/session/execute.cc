// src/session/execute.cc - run.
#include "session/execute.h"

#include <chrono>

#include "ir/tensor.h"
#include "session/loaded.h"

namespace edgewright::session {

Result<RunResult> execute(const std::string& path, const Options& options, const CallFiles& files,
                          const Tolerance& tolerance, const std::vector<std::string>& output_files,
                          const Progress& progress) {
  if (!output_files.empty() && output_files.size() != std::max<size_t>(files.inputs.size(), 1))
    return fail(Code::kUsage, "{} calls, but -o is given {} times", std::max<size_t>(files.inputs.size(), 1),
                output_files.size());
  progress("loading");
  RunResult r;
  EW_ASSIGN(const auto model, load(path, options));
  r.load_ms = model->load_ms();
  auto gathered = gather(model->signature(), files, model->sample_inputs());
  if (!gathered) return with_note(std::move(gathered.error()), path);
  const std::vector<CallInputs>& calls = *gathered;
  for (size_t i = 0; i < calls.size(); ++i) {
    progress("running");
    const auto start = std::chrono::steady_clock::now();
    auto outputs = model->run(calls[i].inputs);
    if (!outputs) return with_note(std::move(outputs.error()), path);
    CallResult& call = r.calls.emplace_back();
    call.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    call.outputs = std::move(*outputs);
    if (!calls[i].expected) continue;
    auto checks = compare_expected(i, model->signature(), call.outputs, *calls[i].expected, tolerance);
    r.checks.insert(r.checks.end(), std::make_move_iterator(checks.begin()), std::make_move_iterator(checks.end()));
  }
  for (size_t i = 0; i < output_files.size(); ++i) EW_TRY(write_outputs(output_files[i], r.calls[i].outputs));
  return r;
}

double element_f(const HostTensor& t, int64_t i) { return ir::load_f(t.dtype, t.bytes.data(), i); }
int64_t element_i(const HostTensor& t, int64_t i) { return ir::load_i(t.dtype, t.bytes.data(), i); }

}  // namespace edgewright::session

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
  std::vector<CallInputs> calls;
  std::vector<Loaded*> models;  // by call
  std::vector<std::unique_ptr<Loaded>> loaded;
  if (files.methods.size() < 2) {
    EW_ASSIGN(auto model, load(path, options));
    auto gathered = gather(model->signature(), files, model->sample_inputs());
    if (!gathered) return with_note(std::move(gathered.error()), path);
    calls = std::move(*gathered);
    models.assign(calls.size(), model.get());
    loaded.push_back(std::move(model));
  } else {
    if (files.methods.size() != files.inputs.size())
      return fail(Code::kUsage, "{} calls, but --method is given {} times", files.inputs.size(), files.methods.size());
    EW_ASSIGN(loaded, load_methods(path, options, files.methods));
    for (size_t i = 0; i < files.methods.size(); ++i) {
      models.push_back(nullptr);
      for (const auto& m : loaded)
        if (m->signature().method == files.methods[i]) models.back() = m.get();
      CallFiles one{.inputs = {files.inputs[i]}, .expected = {}, .scalars = files.scalars, .methods = {}};
      if (!files.expected.empty()) {
        if (files.expected.size() != files.inputs.size())
          return fail(Code::kUsage, "{} calls, but --expect is given {} times", files.inputs.size(),
                      files.expected.size());
        one.expected = {files.expected[i]};
      }
      auto gathered = gather(models.back()->signature(), one, std::nullopt);
      if (!gathered) return with_note(std::move(gathered.error()), path);
      calls.push_back(std::move(gathered->front()));
    }
  }
  for (const auto& m : loaded) r.load_ms += m->load_ms();
  for (size_t i = 0; i < calls.size(); ++i) {
    Loaded* const model = models[i];
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

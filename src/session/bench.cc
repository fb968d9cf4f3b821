// src/session/bench.cc - measures.
#include "session/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "session/loaded.h"

namespace edgewright::session {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

Result<BenchResult> bench(const std::string& path, const Options& options, const CallFiles& files, double seconds) {
  BenchResult r;
  const auto start = Clock::now();
  EW_ASSIGN(const auto model, load(path, options));
  const double opened = since(start);
  r.load_ms = model->load_ms();
  if (model->report()) r.compile_ms = opened - r.load_ms;
  auto gathered = gather(model->signature(), files, model->sample_inputs());
  if (!gathered) return with_note(std::move(gathered.error()), path);
  const std::vector<CallInputs>& calls = *gathered;
  const std::vector<Value>& inputs = calls.front().inputs;  // checked by gather()
  const auto warm = Clock::now();
  int warming = 0;
  do {
    EW_TRY(model->run_unchecked(inputs));
    ++warming;
  } while (since(warm) < seconds * 100);
  std::vector<double> times;
  for (const auto begin = Clock::now(); times.empty() || since(begin) < seconds * 1000;) {
    const auto one = Clock::now();
    EW_TRY(model->run_unchecked(inputs));
    times.push_back(since(one));
  }
  std::sort(times.begin(), times.end());
  r.runs = static_cast<int>(times.size());
  r.min_ms = times.front();
  r.median_ms = times[times.size() / 2];
  r.p90_ms = times[times.size() * 9 / 10];
  r.mean_ms = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  r.arena_bytes = model->arena_bytes();
  for (const runtime::StepTime& t : model->profile()) {
    auto at = std::find_if(r.profile.begin(), r.profile.end(),
                           [&](const auto& s) { return s.name == t.name && s.delegate == t.delegate; });
    if (at == r.profile.end()) at = r.profile.insert(at, {t.name, t.delegate});
    ++at->count;
    at->ms += t.total_ms / (r.runs + warming);
  }
  std::stable_sort(r.profile.begin(), r.profile.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  r.peak_rss_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  return r;
}

}  // namespace edgewright::session

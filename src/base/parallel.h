// src/base/parallel.h - a loop spread over the machine's threads, and code compiled for several instruction sets.
// Depends on nothing of ours.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

// In front of a function whose loops gain from wide vectors: compiled also for AVX2 and AVX-512, chosen when the program
// loads. Sanitizers run too late for such a choice.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define EW_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EW_VECTOR_CLONES
#endif

namespace edgewright {

// Calls f(begin, end) over disjoint chunks of [0, n), each of at most `grain` items, and returns when all are done.
// Uses at most as many threads as the machine has (16 at most); a call from inside a chunk runs in place. f must not throw.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  static thread_local bool inside = false;
  grain = std::max<int64_t>(grain, 1);
  const int64_t chunks = (n + grain - 1) / grain;
  const int64_t threads =
      inside ? 1 : std::min<int64_t>({chunks, std::max(1u, std::thread::hardware_concurrency()), 16});
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    const bool was = inside;
    inside = true;
    for (int64_t c; (c = next.fetch_add(1, std::memory_order_relaxed)) < chunks;)
      f(c * grain, std::min(n, (c + 1) * grain));
    inside = was;
  };
  std::vector<std::thread> others;
  try {
    for (int64_t t = 1; t < threads; ++t) others.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads to be had: those there are do it
  }
  work();
  for (std::thread& t : others) t.join();
}

}  // namespace edgewright

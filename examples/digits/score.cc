// digits_score INPUTS LABELS OUTPUTS (safetensors): draws a few of the digits with what the network made of them, and counts
// how many it got right. Depends on format/.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>

#include "format/safetensors.h"

using namespace edgewright;

namespace {

constexpr int64_t kSide = 8, kClasses = 10, kDrawn = 8;

// The one tensor of a file, as T's; it must have `dtype` and, if not 0, `per_row` elements for each of its first dim.
template <class T>
Result<std::vector<T>> load(const std::string& path, DType dtype, int64_t per_row) {
  EW_ASSIGN(const auto tensors, safetensors::read(path));
  if (tensors.size() != 1 || tensors[0].tensor.dtype != dtype || tensors[0].tensor.numel() % per_row != 0)
    return fail(Code::kUsage, "{}: not the tensor that this demo expects", path);
  std::vector<T> values(tensors[0].tensor.numel());
  std::memcpy(values.data(), tensors[0].tensor.bytes.data(), tensors[0].tensor.bytes.size());
  return values;
}

void draw(const std::vector<float>& images, const std::vector<int64_t>& labels, const std::vector<int64_t>& guesses) {
  constexpr char kInk[] = " .:*#";
  for (int64_t y = 0; y < kSide; ++y) {
    std::string line = "  ";
    for (int64_t i = 0; i < kDrawn; ++i) {
      for (int64_t x = 0; x < kSide; ++x)
        line += kInk[std::clamp(static_cast<int>(images[(i * kSide + y) * kSide + x] * 4.99f), 0, 4)];
      line += "  ";
    }
    std::puts(line.c_str());
  }
  std::string line = "  ";
  for (int64_t i = 0; i < kDrawn; ++i)
    line += fmt::format("{:<10}", fmt::format("-> {}{}", guesses[i], guesses[i] == labels[i] ? "" : " wrong"));
  std::puts(line.c_str());
}

Result<void> score(char** argv) {
  EW_ASSIGN(const auto images, load<float>(argv[1], DType::f32, kSide * kSide));
  EW_ASSIGN(const auto labels, load<int64_t>(argv[2], DType::i64, 1));
  EW_ASSIGN(const auto logits, load<float>(argv[3], DType::f32, kClasses));
  const auto count = static_cast<int64_t>(labels.size());
  if (count < kDrawn || std::ssize(images) != count * kSide * kSide || std::ssize(logits) != count * kClasses)
    return fail(Code::kUsage, "the three files do not belong together");
  std::vector<int64_t> guesses;
  for (auto row = logits.begin(); row != logits.end(); row += kClasses)
    guesses.push_back(std::max_element(row, row + kClasses) - row);
  draw(images, labels, guesses);
  const auto right =
      std::inner_product(labels.begin(), labels.end(), guesses.begin(), int64_t{0}, std::plus<>(), std::equal_to<>());
  fmt::print("accuracy: {} of {} held-out digits right ({:.1f} %)\n", right, count, 100.0 * right / count);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: digits_score INPUTS LABELS OUTPUTS\n", stderr);
    return exit_status(Code::kUsage);
  }
  const auto done = score(argv);
  if (!done) std::fprintf(stderr, "error: %s\n", done.error().str().c_str());
  return done ? 0 : exit_status(done.error().code);
}

// fuzz_replay: stands in for libFuzzer's main in an ordinary build. Feeds every file of the given folders to
// the fuzzer's one function, so that each input that once crashed is a test. Depends on nothing of ours.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  int count = 0;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(""), 0);
  for (int i = 1; i < argc; ++i) {
    std::error_code ignored;  // a fuzzer without a corpus still gets the empty input
    for (const auto& entry : fs::directory_iterator(argv[i], ignored)) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
      std::fprintf(stderr, "%s\n", entry.path().c_str());  // the last one named is the one that crashed
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++count;
    }
  }
  std::printf("%d inputs replayed\n", count);
  return 0;
}

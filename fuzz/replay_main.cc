// Runs a fuzz target over files: `fuzz_json DIRECTORY_OR_FILE...`, for compilers without libFuzzer. Fails when nothing
// was run.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

bool run_file(const std::filesystem::path& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, 4096> chunk;
  while (std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file)) {
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
  }
  bool read = std::ferror(file) == 0;
  std::fclose(file);
  if (read) LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return read;
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t runs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const std::filesystem::path& path : files_of(argv[i])) {
      if (!run_file(path)) {
        std::fprintf(stderr, "unreadable: %s\n", path.c_str());
        return 1;
      }
      ++runs;
    }
  }
  std::printf("%zu inputs\n", runs);
  return runs == 0 ? 1 : 0;
}

// The finished programs of the release preset. What is asked of them stands in SECURITY.md.
#include <elf.h>

#include <algorithm>
#include <filesystem>

#include "tests/release/elf_file.h"

namespace oncelatch::release {
namespace {

// Every executable of that name in the tree (a program may be copied beside another).
std::vector<std::string> programs_named(const std::string& name) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ONCELATCH_RELEASE_DIR)) {
    const bool executable =
        entry.is_regular_file() && !entry.is_symlink() &&
        (entry.status().permissions() & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
    if (executable && entry.path().filename() == name) paths.push_back(entry.path().string());
  }
  if (paths.empty()) ADD_FAILURE() << name << " is not in " << ONCELATCH_RELEASE_DIR;
  return paths;
}

class EveryProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryProgram, IsPositionIndependentWithFullRelroAndNoExecutableData) {
  for (const std::string& path : programs_named(GetParam())) {
    SCOPED_TRACE(path);
    const ElfFile file = read_elf_file(path);
    EXPECT_TRUE(file.position_independent) << "link with -pie or -static-pie";
    EXPECT_TRUE(file.relro) << "link with -Wl,-z,relro";
    EXPECT_TRUE(file.bind_now) << "link with -Wl,-z,now";
    EXPECT_TRUE(file.stack_header);
    EXPECT_FALSE(file.executable_stack) << "link with -Wl,-z,noexecstack";
    EXPECT_FALSE(file.writable_code);
    EXPECT_FALSE(file.text_relocations);
    EXPECT_FALSE(file.run_path);
  }
}

INSTANTIATE_TEST_SUITE_P(Release, EveryProgram,
                         ::testing::Values("oncelatch", "oncelatch-session", "oncelatch-relay", "oncelatch-exec",
                                           "oncelatch-narrow"),
                         [](const auto& name) {
                           std::string word = name.param;
                           std::replace(word.begin(), word.end(), '-', '_');
                           return word;
                         });

class GlibcProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(GlibcProgram, ChecksItsStackAndTheCLibrarysBuffers) {
  for (const std::string& path : programs_named(GetParam())) {
    SCOPED_TRACE(path);
    const ElfFile file = read_elf_file(path);
    EXPECT_TRUE(file.dynamically_linked);
    EXPECT_TRUE(file.imports("__stack_chk_fail")) << "compile with -fstack-protector-strong";
    // The relay's few buffers have sizes that the compiler proves: no checking call is left in it.
    if (std::string_view(GetParam()) == "oncelatch-relay") continue;
    EXPECT_TRUE(file.imports_fortified()) << "compile with -D_FORTIFY_SOURCE=3 and optimisation";
  }
}

// The C library's start files may lack the note, and the linker then drops it from the whole program unless told
// otherwise.
TEST_P(GlibcProgram, IsMarkedForControlFlowEnforcement) {
  for (const std::string& path : programs_named(GetParam())) {
    SCOPED_TRACE(path);
    const ElfFile file = read_elf_file(path);
    if (file.machine != EM_X86_64) continue;
    EXPECT_EQ(file.main_is_branch_target, true) << "compile with -fcf-protection=full";
    EXPECT_TRUE(file.branch_tracking) << "link with -Wl,-z,ibt";
    EXPECT_TRUE(file.shadow_stack) << "link with -Wl,-z,shstk";
  }
}

INSTANTIATE_TEST_SUITE_P(Release, GlibcProgram, ::testing::Values("oncelatch-session", "oncelatch-relay"),
                         [](const auto& name) {
                           std::string word = name.param;
                           std::replace(word.begin(), word.end(), '-', '_');
                           return word;
                         });

TEST(SmallPrograms, AreStatic) {
  for (const char* name : {"oncelatch", "oncelatch-exec", "oncelatch-narrow"}) {
    for (const std::string& path : programs_named(name)) {
      EXPECT_FALSE(read_elf_file(path).dynamically_linked) << path;
    }
  }
}

}  // namespace
}  // namespace oncelatch::release

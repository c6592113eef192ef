// The reader against a program with everything and one with nothing.
#include "tests/release/elf_file.h"

#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace oncelatch::release {
namespace {

TEST(ElfFileTest, SeesTheHardeningOfAStrongProgram) {
  const ElfFile file = read_elf_file(SAMPLE_STRONG);
  EXPECT_TRUE(file.position_independent);
  EXPECT_TRUE(file.dynamically_linked);
  EXPECT_TRUE(file.relro);
  EXPECT_TRUE(file.bind_now);
  EXPECT_TRUE(file.stack_header);
  EXPECT_FALSE(file.executable_stack);
  EXPECT_FALSE(file.writable_code);
  EXPECT_FALSE(file.text_relocations);
  EXPECT_FALSE(file.run_path);
  EXPECT_TRUE(file.imports("__stack_chk_fail"));
  EXPECT_TRUE(file.imports_fortified());
  if (file.machine == EM_X86_64) {
    EXPECT_TRUE(file.branch_tracking);
    EXPECT_TRUE(file.shadow_stack);
    EXPECT_EQ(file.main_is_branch_target, true);
  }
}

TEST(ElfFileTest, SeesWhatAPlainProgramLacks) {
  const ElfFile file = read_elf_file(SAMPLE_PLAIN);
  EXPECT_FALSE(file.position_independent);
  EXPECT_FALSE(file.relro);
  EXPECT_FALSE(file.bind_now);
  EXPECT_TRUE(file.executable_stack);
  EXPECT_TRUE(file.run_path);
  EXPECT_FALSE(file.imports("__stack_chk_fail"));
  EXPECT_FALSE(file.imports_fortified());
  EXPECT_FALSE(file.branch_tracking);
  EXPECT_FALSE(file.shadow_stack);
  EXPECT_EQ(file.main_is_branch_target, false);
}

TEST(ElfFileTest, RefusesWhatIsNoElfFileOrCutShort) {
  EXPECT_THROW((void)read_elf_file("/nonexistent"), std::runtime_error);
  EXPECT_THROW((void)read_elf_file(__FILE__), std::runtime_error);

  std::ifstream stream(SAMPLE_STRONG, std::ios::binary);
  std::ostringstream copy;
  copy << stream.rdbuf();
  const std::string whole = copy.str();
  std::string path = ::testing::TempDir() + "elf-file-XXXXXX";
  const int fd = ::mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ::close(fd);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{64}, whole.size() / 2}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    EXPECT_THROW((void)read_elf_file(path), std::runtime_error) << size;
  }
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace oncelatch::release

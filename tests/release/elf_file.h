// What the finished ELF file of a program says about its hardening. A small reader of our own: 64-bit, little-endian.
//
//   ElfFile file = read_elf_file("/usr/bin/true");
//   EXPECT_TRUE(file.relro && file.bind_now);
//
// Ownership: a value. Threads: a value. Failure: a file that can't be read or is cut short throws std::runtime_error
// with its path, which fails the test. Source: elf(5), the System V ABI and its x86-64 supplement.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace oncelatch::release {

struct ElfFile {
  std::uint16_t machine = 0;          // EM_*
  bool position_independent = false;  // ET_DYN with DF_1_PIE: a program, not a library
  bool dynamically_linked = false;    // has an interpreter
  bool relro = false;                 // PT_GNU_RELRO
  bool bind_now = false;              // DF_BIND_NOW or DF_1_NOW
  bool stack_header = false;          // PT_GNU_STACK is there at all
  bool executable_stack = false;
  bool writable_code = false;                 // a segment both writable and executable
  bool text_relocations = false;              // DT_TEXTREL or DF_TEXTREL
  bool run_path = false;                      // DT_RPATH or DT_RUNPATH
  bool branch_tracking = false;               // x86: .note.gnu.property says IBT
  bool shadow_stack = false;                  // x86: .note.gnu.property says SHSTK
  std::optional<bool> main_is_branch_target;  // x86: main begins with endbr64; nullopt: no symbol table
  std::set<std::string> dynamic_symbols;      // names

  [[nodiscard]] bool imports(const std::string& name) const { return dynamic_symbols.contains(name); }
  // Any of the checked variants of the C library's functions, such as __strcpy_chk.
  [[nodiscard]] bool imports_fortified() const;
};

[[nodiscard]] ElfFile read_elf_file(const std::string& path);

}  // namespace oncelatch::release

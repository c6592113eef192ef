#include "tests/release/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <type_traits>

namespace oncelatch::release {
namespace {

constexpr std::uint32_t kPropertyX86Features = 0xc0000002;  // GNU_PROPERTY_X86_FEATURE_1_AND
constexpr std::uint32_t kFeatureIbt = 1;
constexpr std::uint32_t kFeatureShstk = 2;
constexpr std::uint32_t kNoteGnuProperty = 5;  // NT_GNU_PROPERTY_TYPE_0
constexpr unsigned char kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

// The bytes of a file; every read is checked against its end.
class Image {
 public:
  explicit Image(const std::string& path) : path_(path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + path);
    std::ostringstream whole;
    whole << stream.rdbuf();
    bytes_ = whole.str();
  }

  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, range(offset, sizeof(T)), sizeof(T));
    return value;
  }
  [[nodiscard]] const char* range(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) throw std::runtime_error("cut short: " + path_);
    return bytes_.data() + offset;
  }
  [[nodiscard]] std::string text(std::uint64_t offset) const {
    const auto start = bytes_.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(offset, bytes_.size()));
    const auto end = std::find(start, bytes_.end(), '\0');
    if (end == bytes_.end()) throw std::runtime_error("name without an end: " + path_);
    return {start, end};
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string bytes_;
};

void read_dynamic(const Image& image, const Elf64_Phdr& segment, ElfFile& file) {
  for (std::uint64_t i = 0; i + sizeof(Elf64_Dyn) <= segment.p_filesz; i += sizeof(Elf64_Dyn)) {
    const auto entry = image.at<Elf64_Dyn>(segment.p_offset + i);
    const std::uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_NULL:
        return;
      case DT_FLAGS:
        file.bind_now |= (value & DF_BIND_NOW) != 0;
        file.text_relocations |= (value & DF_TEXTREL) != 0;
        break;
      case DT_FLAGS_1:
        file.bind_now |= (value & DF_1_NOW) != 0;
        file.position_independent |= (value & DF_1_PIE) != 0;
        break;
      case DT_BIND_NOW:
        file.bind_now = true;
        break;
      case DT_TEXTREL:
        file.text_relocations = true;
        break;
      case DT_RPATH:
      case DT_RUNPATH:
        file.run_path = true;
        break;
      default:
        break;
    }
  }
}

// Properties are aligned to 8 bytes: type, size, data.
void read_properties(const Image& image, std::uint64_t offset, std::uint64_t size, ElfFile& file) {
  for (std::uint64_t i = 0; i + 8 <= size;) {
    const auto type = image.at<std::uint32_t>(offset + i);
    const auto length = image.at<std::uint32_t>(offset + i + 4);
    if (type == kPropertyX86Features && length >= 4) {
      const auto features = image.at<std::uint32_t>(offset + i + 8);
      file.branch_tracking = (features & kFeatureIbt) != 0;
      file.shadow_stack = (features & kFeatureShstk) != 0;
    }
    i += 8 + ((std::uint64_t{length} + 7) & ~std::uint64_t{7});
  }
}

void read_property_notes(const Image& image, const Elf64_Phdr& segment, ElfFile& file) {
  for (std::uint64_t i = 0; i + sizeof(Elf64_Nhdr) <= segment.p_filesz;) {
    const auto note = image.at<Elf64_Nhdr>(segment.p_offset + i);
    const std::uint64_t name_size = (std::uint64_t{note.n_namesz} + 3) & ~std::uint64_t{3};
    const std::uint64_t content = segment.p_offset + i + sizeof note + name_size;
    if (note.n_type == kNoteGnuProperty) read_properties(image, content, note.n_descsz, file);
    i += sizeof note + name_size + ((std::uint64_t{note.n_descsz} + 7) & ~std::uint64_t{7});
  }
}

void read_segment(const Image& image, const Elf64_Phdr& segment, ElfFile& file) {
  switch (segment.p_type) {
    case PT_INTERP:
      file.dynamically_linked = true;
      break;
    case PT_GNU_RELRO:
      file.relro = true;
      break;
    case PT_GNU_STACK:
      file.stack_header = true;
      file.executable_stack = (segment.p_flags & PF_X) != 0;
      break;
    case PT_LOAD:
      file.writable_code |= (segment.p_flags & (PF_W | PF_X)) == (PF_W | PF_X);
      break;
    case PT_DYNAMIC:
      read_dynamic(image, segment, file);
      break;
    case PT_GNU_PROPERTY:
      read_property_notes(image, segment, file);
      break;
    default:
      break;
  }
}

void read_dynamic_symbols(const Image& image, const Elf64_Shdr& symbols, const Elf64_Shdr& names, ElfFile& file) {
  for (std::uint64_t i = 0; i + sizeof(Elf64_Sym) <= symbols.sh_size; i += sizeof(Elf64_Sym)) {
    const auto symbol = image.at<Elf64_Sym>(symbols.sh_offset + i);
    file.dynamic_symbols.insert(image.text(names.sh_offset + symbol.st_name));
  }
}

// Start files of the C library may hold endbr64 in any case, so it is the program's own function that is looked at.
template <class SectionAt>
void look_at_main(const Image& image, const Elf64_Shdr& symbols, const SectionAt& section, ElfFile& file) {
  const Elf64_Shdr names = section(symbols.sh_link);
  for (std::uint64_t i = 0; i + sizeof(Elf64_Sym) <= symbols.sh_size; i += sizeof(Elf64_Sym)) {
    const auto symbol = image.at<Elf64_Sym>(symbols.sh_offset + i);
    const bool defined = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE;
    if (!defined || image.text(names.sh_offset + symbol.st_name) != "main") continue;
    const Elf64_Shdr code = section(symbol.st_shndx);
    const char* start = image.range(code.sh_offset + (symbol.st_value - code.sh_addr), sizeof kEndbr64);
    file.main_is_branch_target = std::memcmp(start, kEndbr64, sizeof kEndbr64) == 0;
  }
}

void read_sections(const Image& image, const Elf64_Ehdr& header, ElfFile& file) {
  const auto section = [&](std::uint64_t index) {
    return image.at<Elf64_Shdr>(header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  if (header.e_shnum == 0) return;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (one.sh_type == SHT_DYNSYM) read_dynamic_symbols(image, one, section(one.sh_link), file);
    if (one.sh_type == SHT_SYMTAB) look_at_main(image, one, section, file);
  }
}

}  // namespace

bool ElfFile::imports_fortified() const {
  return std::any_of(dynamic_symbols.begin(), dynamic_symbols.end(),
                     [](const std::string& name) { return name.starts_with("__") && name.ends_with("_chk"); });
}

ElfFile read_elf_file(const std::string& path) {
  const Image image(path);
  const auto header = image.at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB) {
    throw std::runtime_error("not a 64-bit little-endian ELF file: " + path);
  }
  ElfFile file;
  file.machine = header.e_machine;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    read_segment(image, image.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)), file);
  }
  file.position_independent = file.position_independent && header.e_type == ET_DYN;
  read_sections(image, header, file);
  return file;
}

}  // namespace oncelatch::release

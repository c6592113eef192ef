// Archives for tests, right ones and every wrong one: each header field can be said.
//
//   TarWriter tar;
//   tar.file("kirocli/bin/kiro-cli", "bytes", 0755);
//   std::string bytes = packed(tar.end(), "xz");          // by the libraries themselves
//
// Ownership: values. Threads: one. Failure: gtest assertions. Source: POSIX.1-2017 pax; PKWARE's APPNOTE.
#pragma once

#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace oncelatch::test {

struct TarHeader {
  std::string name;
  char type = '0';
  unsigned mode = 0644;
  std::string link = {};
  std::string magic = std::string(
      "ustar\0"
      "00",
      8);
  std::string prefix = {};
  std::string size = {};  // the field itself; empty: the content's
  unsigned uid = 0;
  bool wrong_sum = false;
};

class TarWriter {
 public:
  void add(const TarHeader& header, const std::string& content = {}) {
    std::string block(512, '\0');
    auto put = [&](std::size_t at, const std::string& text, std::size_t most) {
      block.replace(at, std::min(text.size(), most), text.substr(0, most));
    };
    put(0, header.name, 100);
    put(100, octal(header.mode, 7), 8);
    put(108, octal(header.uid, 7), 8);
    put(116, octal(0, 7), 8);
    put(124, header.size.empty() ? octal(content.size(), 11) : header.size, 12);
    put(136, octal(1'700'000'000, 11), 12);
    block[156] = header.type;
    put(157, header.link, 100);
    put(257, header.magic, 8);
    put(345, header.prefix, 155);
    block.replace(148, 8, "        ");
    unsigned sum = header.wrong_sum ? 1 : 0;
    for (char c : block) sum += static_cast<unsigned char>(c);
    put(148, octal(sum, 6) + std::string("\0 ", 2), 8);
    bytes += block;
    append(content);
  }
  void file(const std::string& name, const std::string& content = "x", unsigned mode = 0644) {
    add({.name = name, .mode = mode}, content);
  }
  void directory(const std::string& name, unsigned mode = 0755) { add({.name = name, .type = '5', .mode = mode}); }
  void link(const std::string& name, const std::string& to, bool symbolic) {
    add({.name = name, .type = symbolic ? '2' : '1', .mode = 0777, .link = to});
  }
  // An extended header before the next entry.
  void records(const std::vector<std::pair<std::string, std::string>>& all, char type = 'x') {
    std::string text;
    for (const auto& [key, value] : all) text += record(key, value);
    add({.name = "PaxHeaders/x", .type = type}, text);
  }
  static std::string record(const std::string& key, const std::string& value) {
    const std::size_t rest = key.size() + value.size() + 3;
    std::size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length) ++length;
    return std::to_string(length) + " " + key + "=" + value + "\n";
  }
  void append(const std::string& content) {
    bytes += content;
    bytes.append((512 - content.size() % 512) % 512, '\0');
  }
  std::string end(std::size_t blocks = 2) {
    bytes.append(blocks * 512, '\0');
    return bytes;
  }
  static std::string octal(std::uint64_t value, std::size_t digits) {
    std::string text(digits, '0');
    for (std::size_t i = digits; i-- > 0; value >>= 3) text[i] = static_cast<char>('0' + (value & 7));
    return text;
  }
  std::string bytes;
};

inline std::string packed_xz(const std::string& bytes, lzma_check check = LZMA_CHECK_CRC64,
                             std::uint32_t dictionary = 0) {
  lzma_options_lzma options;
  lzma_lzma_preset(&options, 1);
  if (dictionary != 0) options.dict_size = dictionary;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::string out(lzma_stream_buffer_bound(bytes.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_stream_buffer_encode(filters, check, nullptr, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                      bytes.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

inline std::string packed_gzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string packed_zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

struct ZipEntry {
  std::string name;
  std::string content;
  bool deflated = true;
  std::uint32_t mode = 0100644;   // with its type
  std::string local_name = {};    // another one before the content; empty: the same
  std::uint32_t local_size = 0;   // the same
  std::uint32_t listed_size = 0;  // in the list
  std::uint16_t flags = 0;
  std::uint16_t method = 0;  // instead of its own
  bool descriptor = false;   // sizes behind the content
  std::uint32_t descriptor_size = 0;
  std::string extra = {};
  bool wrong_sum = false;
};

class ZipWriter {
 public:
  explicit ZipWriter(std::string before = {}) : bytes(std::move(before)) {}

  void add(const ZipEntry& entry) {
    std::string data = entry.content;
    if (entry.deflated) data = deflated(entry.content);
    const auto sum = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(entry.content.data()),
                                                      static_cast<uInt>(entry.content.size()))) ^
                     (entry.wrong_sum ? 1U : 0U);
    const auto size = static_cast<std::uint32_t>(entry.content.size());
    const auto packed = static_cast<std::uint32_t>(data.size());
    const std::uint16_t method = entry.method != 0 ? entry.method : entry.deflated ? 8 : 0;
    const auto flags = static_cast<std::uint16_t>(entry.flags | (entry.descriptor ? 8 : 0));
    const std::string local = entry.local_name.empty() ? entry.name : entry.local_name;
    const auto offset = static_cast<std::uint32_t>(bytes.size());
    const bool zero = entry.descriptor;
    bytes += number(0x04034b50, 4) + number(20, 2) + number(flags, 2) + number(method, 2) + number(0, 4) +
             number(zero ? 0 : sum, 4) + number(zero ? 0 : packed, 4) +
             number(zero                    ? 0
                    : entry.local_size != 0 ? entry.local_size
                                            : size,
                    4) +
             number(local.size(), 2) + number(entry.extra.size(), 2) + local + entry.extra + data;
    if (entry.descriptor)
      bytes += number(0x08074b50, 4) + number(sum, 4) + number(packed, 4) +
               number(entry.descriptor_size != 0 ? entry.descriptor_size : size, 4);
    list += number(0x02014b50, 4) + number(0x031e, 2) + number(20, 2) + number(flags, 2) + number(method, 2) +
            number(0, 4) + number(sum, 4) + number(packed, 4) +
            number(entry.listed_size != 0 ? entry.listed_size : size, 4) + number(entry.name.size(), 2) +
            number(entry.extra.size(), 2) + number(0, 2) + number(0, 2) + number(0, 2) +
            number(static_cast<std::uint64_t>(entry.mode) << 16, 4) + number(offset, 4) + entry.name + entry.extra;
    ++count;
  }
  [[nodiscard]] std::string end(const std::string& between = {}, const std::string& comment = {}) const {
    const std::string all = bytes + between;
    return all + list + number(0x06054b50, 4) + number(0, 4) + number(count, 2) + number(count, 2) +
           number(list.size(), 4) + number(all.size(), 4) + number(comment.size(), 2) + comment;
  }
  static std::string number(std::uint64_t value, std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
  }
  static std::string deflated(const std::string& content) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&stream, content.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }
  std::string bytes;
  std::string list;
  std::uint64_t count = 0;
};

}  // namespace oncelatch::test

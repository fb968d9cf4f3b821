// The zip reader: what it accepts, and each way an archive can lie.
#include <gtest/gtest.h>

#include "archive.h"

using namespace edgewright;
using namespace edgewright::read;

namespace {
Result<std::shared_ptr<const ZipArchive>> open(const std::string& s) {
  const Owned b(s);
  return ZipArchive::open(b.span(), b.bytes);
}
template <class F>
std::string lying(F&& change) {
  return make_zip({{"a", "first"}, {"b", "second"}}, [&](std::vector<Record>& r) { change(r); });
}
void expect_malformed(const std::string& zip, std::string_view why) {
  const auto z = open(zip);
  ASSERT_FALSE(z);
  EXPECT_EQ(z.error().code, Code::kMalformed);
  EXPECT_NE(z.error().message.find(why), std::string::npos) << z.error().message;
}

TEST(Zip, reads_stored_entries_without_copying) {
  const Owned b(make_zip({{"a", "first"}, {"dir/b", ""}}));
  const auto z = ZipArchive::open(b.span(), b.bytes).value();
  ASSERT_EQ(z->entries().size(), 2u);
  const Bytes a = z->read(*z->find("a")).value();
  EXPECT_EQ(a.text(), "first");
  EXPECT_TRUE(a.mapped);
  EXPECT_EQ(z->read(*z->find("dir/b"))->text(), "");
  EXPECT_FALSE(z->find("c"));
}

TEST(Zip, reads_an_archive_behind_other_bytes_of_a_comment) {
  std::string zip = make_zip({{"a", "first"}});
  zip[zip.size() - 2] = 7;
  zip += "comment";
  ASSERT_TRUE(open(zip));
}

TEST(Zip, rejects_what_is_no_archive) {
  expect_malformed("", "too few");
  expect_malformed(std::string(22, '\0'), "no end record");
  expect_malformed(std::string(100000, 'P'), "no end record");
}

TEST(Zip, rejects_a_repeated_name) { expect_malformed(make_zip({{"a", "first"}, {"a", "second"}}), "occurs twice"); }

TEST(Zip, rejects_overlapping_entries) {
  expect_malformed(lying([](auto& r) {
                     r[0].flags = 0;
                     r[1] = r[0];
                     r[1].name = "a";
                   }),
                   "twice");
  // Two names for one local header: the second name differs from it.
  expect_malformed(lying([](auto& r) { r[1].header = r[0].header; }), "differs from its local header");
}

TEST(Zip, rejects_lying_sizes) {
  expect_malformed(lying([](auto& r) { r[0].size = r[0].compressed = 0x7fffffff; }), "reaches outside");
  expect_malformed(lying([](auto& r) { r[0].size = 4; }), "claims");
  expect_malformed(lying([](auto& r) { r[0].size = r[0].compressed = 4; }), "differs in size");
  expect_malformed(lying([](auto& r) { r[0].crc ^= 1; }), "checksum");
  expect_malformed(lying([](auto& r) { r[0].header = 0x7ffffff0; }), "no local header");
  expect_malformed(lying([](auto& r) { r[0].header = r[0].size = r[0].compressed = 0xffffffff; }), "zip64");
}

TEST(Zip, rejects_a_directory_that_cannot_hold_its_count) {
  std::string zip = make_zip({{"a", "first"}});
  zip[zip.size() - 12] = zip[zip.size() - 14] = '\xf0';
  expect_malformed(zip, "cannot hold");
}

TEST(Zip, refuses_encryption_and_other_methods) {
  auto z = open(lying([](auto& r) { r[0].flags = 1; }));
  ASSERT_FALSE(z);
  EXPECT_EQ(z.error().code, Code::kUnsupported);
  z = open(lying([](auto& r) { r[0].method = 14; }));
  ASSERT_FALSE(z);
  EXPECT_EQ(z.error().code, Code::kUnsupported);
}

TEST(Zip, notices_damaged_content) {
  std::string zip = make_zip({{"a", "first"}});
  zip[zip.find("first")] = 'F';
  const auto z = open(zip).value();
  const auto r = z->read(z->entries()[0]);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("checksum"), std::string::npos);
  const ZipEntry* all[] = {&z->entries()[0]};
  EXPECT_FALSE(z->verify(all));
}

TEST(Zip, does_not_believe_what_a_deflated_entry_claims_to_become) {
  const std::string real = file_text(vector_path("small_deflated.pt2"));
  const auto z = open(real).value();
  for (const ZipEntry& e : z->entries()) {
    ZipEntry lie = e;
    EXPECT_TRUE(z->read(e));
    // Copies stand outside the archive's own list, so that only the content is judged.
    for (uint64_t size : {uint64_t{0}, e.size - 1, e.size + 1, e.compressed * 1000, uint64_t{1} << 60}) {
      std::string changed = real;
      const size_t central = changed.rfind(std::string(e.name)) - 46;
      const auto s = static_cast<uint32_t>(std::min<uint64_t>(size, 0xfffffffe));
      std::memcpy(changed.data() + central + 24, &s, 4);
      std::memcpy(changed.data() + e.header + 22, &s, 4);
      const auto y = open(changed);
      if (!y) continue;
      const auto r = (*y)->read(*(*y)->find(e.name));
      EXPECT_TRUE(!r || s == e.size);
    }
  }
}

TEST(Zip, survives_every_truncation_and_many_bit_flips) {
  for (const char* file : {"small_deflated.pt2", "small_zip64.pt2", "custom.pt2"}) {
    const std::string real = file_text(vector_path(file));
    for (size_t n = 0; n < real.size(); n += 1 + n / 200) EXPECT_FALSE(open(real.substr(0, n))) << n;
    uint64_t seed = 1;
    for (int i = 0; i < 3000; ++i) {
      std::string s = real;
      for (int k = 0; k < 3; ++k) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        // Mostly where the headers are: at the end.
        const size_t range = i % 3 ? std::min<size_t>(s.size(), 1500) : s.size();
        s[s.size() - 1 - (seed >> 33) % range] ^= static_cast<char>(1 << ((seed >> 20) & 7));
      }
      if (const auto z = open(s))
        for (const ZipEntry& e : (*z)->entries()) (void)(*z)->read(e);
    }
  }
}
}  // namespace

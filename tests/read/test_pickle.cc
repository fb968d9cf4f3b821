// The pickle machine: what it understands, what it refuses, and pickles that are traps.
#include <gtest/gtest.h>

#include "archive.h"
#include "read/pickle.h"

using namespace edgewright;
using namespace edgewright::read;
using namespace std::string_literals;

namespace {
// One storage, "0", of 24 bytes: floats 0 to 5.
struct Floats final : PickleStorages {
  Bytes bytes;
  int asked = 0;
  Floats() {
    std::string s;
    for (int i = 0; i < 6; ++i) put(s, static_cast<float>(i));
    bytes = as_bytes(s);
  }
  Result<Bytes> find(const std::string& key) override {
    ++asked;
    if (key != "0") return fail(Code::kMalformed, "storage '{}' is missing", key);
    return bytes;
  }
};
Result<Pickle> run(const std::string& code, Floats* storages = nullptr) {
  Floats own;
  const Owned b(code);
  return read_pickle(b.span(), storages ? *storages : own);
}
std::string str(std::string_view s) {
  std::string out = "X";
  put(out, static_cast<uint32_t>(s.size()));
  return out + std::string(s);
}
std::string num(int32_t v) {
  std::string out = "J";
  put(out, v);
  return out;
}
// A float tensor of `sizes` with `strides` at `offset` over storage "0".
std::string tensor(const std::string& sizes, const std::string& strides, int32_t offset, int32_t count = 6) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + str("storage") + "ctorch\nFloatStorage\n" + str("0") + str("cpu") +
         num(count) + "tQ" + num(offset) + "(" + sizes + "t(" + strides + "t\x89" + "ccollections\nOrderedDict\n)RtR";
}

TEST(Pickle, reads_plain_values_and_containers) {
  const auto p =
      run("\x80\x02}(" + str("a") + "K\x07" + str("b") + "]q\x00(\x88\x89NG\x3f\xf8\0\0\0\0\0\0\x8a\x01\xff"s + "eu.");
  ASSERT_TRUE(p) << p.error().str();
  const auto& d = p->root->as<PyDict>()->items;
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(*d[0].second->as<int64_t>(), 7);
  const auto& l = d[1].second->as<PyList>()->items;
  ASSERT_EQ(l.size(), 5u);
  EXPECT_TRUE(*l[0]->as<bool>());
  EXPECT_FALSE(*l[1]->as<bool>());
  EXPECT_TRUE(l[2]->as<PyNone>());
  EXPECT_EQ(*l[3]->as<double>(), 1.5);
  EXPECT_EQ(*l[4]->as<int64_t>(), -1);
}

TEST(Pickle, reads_a_strided_tensor_as_a_view) {
  Floats storages;
  const auto p = run(tensor(num(2) + num(2), num(1) + num(2), 1) + ".", &storages);
  ASSERT_TRUE(p) << p.error().str();
  const auto* t = p->root->as<ir::Tensor>();
  ASSERT_TRUE(t);
  EXPECT_EQ(t->data, storages.bytes.data.data() + 4);
  EXPECT_EQ(t->strides, (std::vector<int64_t>{1, 2}));
}

TEST(Pickle, rejects_tensors_outside_their_storage) {
  for (const std::string& code :
       {tensor(num(7), num(1), 0), tensor(num(2), num(6), 0), tensor(num(1), num(1), 6), tensor(num(1), num(1), -1),
        tensor(num(2), num(-1), 1), tensor(num(-2), num(1), 0),
        tensor(num(2147483647) + num(2147483647) + num(2147483647), num(0) + num(0) + num(0), 0),
        tensor(num(2), num(1) + num(1), 0), tensor(num(1), num(1), 0, 7)}) {
    const auto p = run(code + ".");
    ASSERT_FALSE(p);
    EXPECT_EQ(p.error().code, Code::kMalformed) << p.error().str();
  }
}

TEST(Pickle, an_expanded_tensor_may_not_be_huge) {
  const auto p = run(tensor(num(2000000000), num(0), 0) + ".");
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().code, Code::kMalformed);
}

TEST(Pickle, never_runs_what_it_is_told_to_call) {
  const auto p = run("cos\nsystem\n(" + str("touch /tmp/edgewright_was_here") + "tR.");
  ASSERT_TRUE(p);
  ASSERT_TRUE(p->root->as<PyRefused>());
  EXPECT_EQ(p->root->as<PyRefused>()->what, "object of os.system");
  EXPECT_FALSE(std::ifstream("/tmp/edgewright_was_here"));
}

TEST(Pickle, names_the_class_of_a_tensor_subclass) {
  const auto p =
      run("ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\ncmy.package\nInt4Tensor\n)}tR.");
  ASSERT_TRUE(p) << p.error().str();
  EXPECT_EQ(p->root->as<PyRefused>()->what, "tensor subclass my.package.Int4Tensor");
}

TEST(Pickle, refuses_opcodes_that_tensors_do_not_need) {
  for (const char* op : {"i", "o", "P", "\x82\x01", "\x92"}) {
    const auto p = run(std::string("(") + op + "a\nb\n.");
    ASSERT_FALSE(p);
    EXPECT_EQ(p.error().code, Code::kUnsupported) << p.error().str();
  }
}

TEST(Pickle, holds_containers_that_contain_themselves) {
  // l = []; l.append(l); and a tuple and a dict in the same cycle
  const auto p = run("]q\x00h\x00"s + "a}q\x01h\x00"s + "h\x01s\x86.");
  ASSERT_TRUE(p) << p.error().str();
  EXPECT_EQ(p->root->as<PyTuple>()->items.size(), 2u);
}

TEST(Pickle, rejects_broken_stacks_and_memos) {
  for (const std::string& code : {""s,
                                  "."s,
                                  "N"s,
                                  "NN."s,
                                  "(."s,
                                  "0."s,
                                  "t."s,
                                  "h\x00."s,
                                  "q\x00."s,
                                  "r\xff\xff\xff\x7f"s,
                                  "Nr\xff\xff\xff\x7f."s,
                                  "j\xff\xff\xff\xff."s,
                                  "NNs."s,
                                  "]Nu."s,
                                  "Na."s,
                                  "(N0."s,
                                  "(\x85."s,
                                  "NNR."s,
                                  "NQ."s,
                                  "Nb."s,
                                  "K"s,
                                  "\x8a\x09"s
                                  "123456789."s,
                                  "\x8b\xff\xff\xff\xff."s,
                                  "X\xff\xff\xff\xff"s
                                  "a."s,
                                  "ctorch"s,
                                  "NN\x93."s,
                                  "\x80\x09."s}) {
    const auto p = run(code);
    EXPECT_FALSE(p) << code;
  }
}

TEST(Pickle, survives_huge_counts_within_the_file_size) {
  std::string many = "(";
  many.append(3000000, ')');
  EXPECT_FALSE(run(many + "t."));  // more objects than any model needs
  EXPECT_FALSE(run(std::string(3000000, '(') + "."));
  // One long tuple named again and again must not be copied each time.
  std::string again = "(";
  for (int i = 0; i < 50000; ++i) again += num(1);
  again +=
      "tq\x00"
      "0"s;
  for (int i = 0; i < 5000; ++i) again += "ctorch._utils\n_rebuild_tensor_v2\n(NNh\x00NNNtR"s;
  EXPECT_FALSE(run(again + "."));
}

TEST(Pickle, asks_for_a_storage_once) {
  Floats storages;
  std::string code = "(";
  for (int i = 0; i < 10; ++i) code += tensor(num(6), num(1), 0);
  ASSERT_TRUE(run(code + "t.", &storages));
  EXPECT_EQ(storages.asked, 1);
}

TEST(Pickle, survives_truncation_and_bit_flips) {
  const std::string code = "\x80\x02}q\x00("s + str("w") + tensor(num(2) + num(3), num(3) + num(1), 0) + "u.";
  ASSERT_TRUE(run(code));
  for (size_t n = 0; n < code.size(); ++n) EXPECT_FALSE(run(code.substr(0, n)));
  for (size_t i = 0; i < code.size() * 8; ++i) {
    std::string s = code;
    s[i / 8] ^= static_cast<char>(1 << (i % 8));
    (void)run(s);
  }
}
}  // namespace

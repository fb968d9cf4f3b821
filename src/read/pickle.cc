#include "read/pickle.h"

#include <cstring>
#include <map>
#include <optional>

#include "base/checked.h"

namespace edgewright::read {

namespace {

// Alignment that loads of this dtype need: of its parts, for complex numbers.
size_t alignment_of(DType t) {
  const size_t n = size_of(t);
  return is_complex(t) ? n / 2 : n;
}

// torch.<name>Storage and torch.<name>.
constexpr std::pair<std::string_view, DType> kStorages[] = {
    {"FloatStorage", DType::f32},     {"DoubleStorage", DType::f64},       {"HalfStorage", DType::f16},
    {"BFloat16Storage", DType::bf16}, {"LongStorage", DType::i64},         {"IntStorage", DType::i32},
    {"ShortStorage", DType::i16},     {"CharStorage", DType::i8},          {"ByteStorage", DType::u8},
    {"BoolStorage", DType::b8},       {"ComplexFloatStorage", DType::c64}, {"ComplexDoubleStorage", DType::c128},
};
constexpr std::pair<std::string_view, DType> kDtypes[] = {
    {"float32", DType::f32},
    {"float64", DType::f64},
    {"float16", DType::f16},
    {"bfloat16", DType::bf16},
    {"int64", DType::i64},
    {"int32", DType::i32},
    {"int16", DType::i16},
    {"int8", DType::i8},
    {"uint8", DType::u8},
    {"bool", DType::b8},
    {"complex32", DType::c32},
    {"complex64", DType::c64},
    {"complex128", DType::c128},
    {"uint16", DType::u16},
    {"uint32", DType::u32},
    {"uint64", DType::u64},
    {"float8_e5m2", DType::f8e5m2},
    {"float8_e4m3fn", DType::f8e4m3fn},
    {"float8_e5m2fnuz", DType::f8e5m2fnuz},
    {"float8_e4m3fnuz", DType::f8e4m3fnuz},
};

constexpr size_t kMaxObjects = 2u << 20;
constexpr size_t kMaxRank = 64;  // ATen's own limit

class Machine {
 public:
  Machine(std::span<const std::byte> bytes, PickleStorages& storages) : in_(bytes), storages_(storages) {}
  Result<Pickle> run();

 private:
  PyRef make(auto value) {
    out_.objects.push_back({std::move(value)});
    return &out_.objects.back();
  }
  // The machine made every object, so it may fill the containers.
  static PyObject* edit(PyRef r) { return const_cast<PyObject*>(r); }

  std::optional<std::span<const std::byte>> take(uint64_t n) {
    if (n > in_.size() - at_) return std::nullopt;
    at_ += n;
    return in_.subspan(at_ - n, n);
  }
  template <class T>
  Result<T> number() {
    const auto b = take(sizeof(T));
    if (!b) return truncated();
    T v;
    std::memcpy(&v, b->data(), sizeof(T));
    return v;
  }
  Result<std::string> text(uint64_t n) {
    const auto b = take(n);
    if (!b) return truncated();
    return std::string(reinterpret_cast<const char*>(b->data()), b->size());
  }
  Result<std::string> line() {
    for (size_t i = at_; i < in_.size(); ++i)
      if (in_[i] == std::byte{'\n'}) {
        EW_ASSIGN(std::string s, text(i - at_));
        ++at_;
        return s;
      }
    return truncated();
  }
  std::unexpected<Error> truncated() const { return fail(Code::kMalformed, "pickle is truncated at byte {}", at_); }
  std::unexpected<Error> broken(std::string_view why) const {
    return fail(Code::kMalformed, "pickle is malformed at byte {}: {}", at_, why);
  }

  Result<PyRef> pop() {
    if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) return broken("the stack is empty");
    PyRef r = stack_.back();
    stack_.pop_back();
    return r;
  }
  // Everything above the last mark.
  Result<std::vector<PyRef>> pop_mark() {
    if (marks_.empty()) return broken("there is no mark");
    const size_t from = marks_.back();
    marks_.pop_back();
    std::vector<PyRef> items(stack_.begin() + static_cast<ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return items;
  }
  Result<void> tuple(size_t n) {
    std::vector<PyRef> items(n);
    for (size_t i = n; i-- > 0;) {
      EW_ASSIGN(items[i], pop());
    }
    stack_.push_back(make(PyTuple{std::move(items)}));
    return {};
  }
  Result<void> integer(uint64_t n) {
    if (n > 8) return fail(Code::kUnsupported, "pickle holds an int of {} bytes", n);
    const auto b = take(n);
    if (!b) return truncated();
    uint64_t v = 0;
    for (size_t i = 0; i < n; ++i) v |= static_cast<uint64_t>((*b)[i]) << (8 * i);
    if (n > 0 && n < 8 && (v >> (8 * n - 1)) & 1) v |= ~uint64_t{0} << (8 * n);
    stack_.push_back(make(static_cast<int64_t>(v)));
    return {};
  }
  Result<void> put(uint64_t slot) {
    if (stack_.empty()) return broken("nothing to memoize");
    // A pickle numbers its memo without gaps, so that a slot cannot be larger than what was made.
    if (slot > memo_.size() + kMaxObjects || slot > 2 * in_.size()) return broken("a memo slot is out of range");
    if (slot >= memo_.size()) memo_.resize(slot + 1);
    memo_[slot] = stack_.back();
    return {};
  }
  Result<void> get(uint64_t slot) {
    if (slot >= memo_.size() || !memo_[slot]) return broken("an empty memo slot is read");
    stack_.push_back(memo_[slot]);
    return {};
  }
  Result<void> append(std::vector<PyRef> items) {
    if (stack_.empty()) return broken("nothing to append to");
    if (stack_.back()->as<PyRefused>()) return {};
    auto* l = std::get_if<PyList>(&edit(stack_.back())->v);
    if (!l) return broken("append to something that is not a list");
    l->items.insert(l->items.end(), items.begin(), items.end());
    return {};
  }
  Result<void> set_items(const std::vector<PyRef>& items) {
    if (stack_.empty()) return broken("nothing to set items of");
    if (stack_.back()->as<PyRefused>()) return {};
    auto* d = std::get_if<PyDict>(&edit(stack_.back())->v);
    if (!d) return broken("items are set on something that is not a dict");
    if (items.size() % 2 != 0) return broken("a key without a value");
    for (size_t i = 0; i < items.size(); i += 2) d->items.emplace_back(items[i], items[i + 1]);
    return {};
  }
  Result<void> global(std::string module, std::string name);
  Result<PyRef> call(const PyGlobal& f, const PyTuple& args);
  Result<PyRef> rebuild_tensor(const PyTuple& args, bool with_dtype);
  Result<PyRef> storage(PyRef id);
  Result<bool> step();

  std::span<const std::byte> in_;
  size_t at_ = 0;
  PickleStorages& storages_;
  Pickle out_;
  std::vector<PyRef> stack_, memo_;
  std::vector<size_t> marks_;
  std::map<std::string, Bytes> loaded_;  // storages by key
  std::map<std::pair<const std::byte*, size_t>, Bytes> copies_;
};

bool is_allowed_call(std::string_view m, std::string_view n) {
  return (m == "torch._utils" && (n == "_rebuild_tensor_v2" || n == "_rebuild_tensor_v3" || n == "_rebuild_parameter" ||
                                  n == "_rebuild_parameter_with_state")) ||
         (m == "collections" && (n == "OrderedDict" || n == "defaultdict" || n == "deque")) ||
         (m == "torch" && (n == "Size" || n == "device"));
}

// What a call that is not allowed would have made. Tensor subclasses go through helpers that take the class as an argument.
PyRefused refused(const PyGlobal& f, const PyTuple& args) {
  const bool wrapper = f.module == "torch._utils" && f.name == "_rebuild_wrapper_subclass";
  if (wrapper || (f.module == "torch._tensor" && f.name == "_rebuild_from_type_v2")) {
    const size_t at = wrapper ? 0 : 1;
    if (at < args.items.size())
      if (const auto* type = args.items[at]->as<PyGlobal>()) {
        // (function, type, its arguments, attributes): only a wrapper holds all that it is in its attributes.
        const auto* inner = args.items[0]->as<PyGlobal>();
        const bool has_parts = !wrapper && args.items.size() == 4 && inner && inner->module == "torch._utils" &&
                               inner->name == "_rebuild_wrapper_subclass" && args.items[3]->as<PyDict>();
        return {"tensor subclass " + type->module + "." + type->name, has_parts ? args.items[3] : nullptr, {}};
      }
  }
  return {"object of " + f.module + "." + f.name, nullptr, args.items};
}

Result<void> Machine::global(std::string m, std::string n) {
  if (m == "torch") {
    for (const auto& [name, dtype] : kDtypes)
      if (n == name) {
        stack_.push_back(make(dtype));
        return {};
      }
    for (const auto& [name, dtype] : kStorages)
      if (n == name) {
        stack_.push_back(make(PyStorage{dtype, true, {}}));
        return {};
      }
    for (const std::string_view opaque :
         {"strided", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"})
      if (n == opaque) {
        stack_.push_back(make(PyOpaque{n}));
        return {};
      }
  }
  if ((m == "torch" || m == "torch.storage") && n == "UntypedStorage") {
    stack_.push_back(make(PyStorage{DType::u8, false, {}}));
    return {};
  }
  stack_.push_back(make(PyGlobal{std::move(m), std::move(n)}));
  return {};
}

std::optional<std::vector<int64_t>> int_tuple(PyRef r) {
  const auto* t = r->as<PyTuple>();
  if (!t || t->items.size() > kMaxRank) return std::nullopt;  // before copying: one long tuple may be named many times
  std::vector<int64_t> out;
  out.reserve(t->items.size());
  for (PyRef x : t->items) {
    if (!x->as<int64_t>()) return std::nullopt;
    out.push_back(*x->as<int64_t>());
  }
  return out;
}

Result<PyRef> Machine::rebuild_tensor(const PyTuple& args, bool with_dtype) {
  // (storage, offset, size, stride, requires_grad, hooks[, dtype][, metadata])
  const size_t n = args.items.size(), fixed = with_dtype ? 7 : 6;
  if (n < fixed || n > fixed + 1) return broken("a tensor is rebuilt from the wrong number of arguments");
  const auto* s = args.items[0]->as<PyStorage>();
  const auto* offset = args.items[1]->as<int64_t>();
  auto sizes = int_tuple(args.items[2]), strides = int_tuple(args.items[3]);
  if (!s || !s->bytes.owner || !offset || !sizes || !strides)
    return broken("a tensor is rebuilt from arguments of the wrong kind");
  DType dtype = s->dtype;
  if (with_dtype) {
    const auto* d = args.items[6]->as<DType>();
    if (!d) return broken("a tensor is rebuilt without its dtype");
    dtype = *d;
  } else if (!s->typed) {
    return broken("a tensor over an untyped storage has no dtype");
  }
  Bytes bytes = s->bytes;
  if (reinterpret_cast<uintptr_t>(bytes.data.data()) % alignment_of(dtype) != 0) {
    auto& copy = copies_[{bytes.data.data(), bytes.data.size()}];
    if (!copy.owner) copy = aligned_for(DType::c128, bytes);
    bytes = copy;
  }
  EW_ASSIGN(ir::Tensor t, tensor_over(dtype, std::move(*sizes), std::move(*strides), *offset, bytes));
  return make(std::move(t));
}

Result<PyRef> Machine::call(const PyGlobal& f, const PyTuple& args) {
  if (!is_allowed_call(f.module, f.name)) return make(refused(f, args));
  if (f.name == "_rebuild_tensor_v2") return rebuild_tensor(args, false);
  if (f.name == "_rebuild_tensor_v3") return rebuild_tensor(args, true);
  if (f.name.starts_with("_rebuild_parameter")) {
    if (args.items.empty() || (!args.items[0]->as<ir::Tensor>() && !args.items[0]->as<PyRefused>()))
      return broken("a parameter is rebuilt from arguments of the wrong kind");
    return args.items[0];
  }
  if (f.name == "OrderedDict") {
    if (!args.items.empty()) return broken("an OrderedDict is made with arguments");
    return make(PyDict{});
  }
  if (f.name == "defaultdict") return make(PyDict{});
  if (f.name == "deque") {
    const PyTuple* first = args.items.empty() ? nullptr : args.items[0]->as<PyTuple>();
    if (!args.items.empty() && !(first && first->items.empty())) return broken("a deque is made of items");
    return make(PyList{});
  }
  if (f.name == "Size") {
    if (args.items.size() != 1 || !args.items[0]->as<PyTuple>())
      return broken("a torch.Size is made of something that is not a tuple");
    return args.items[0];
  }
  if (f.name == "device") return make(PyOpaque{"device"});
  return fail(Code::kInternal, "no meaning for {}.{}", f.module, f.name);
}

Result<PyRef> Machine::storage(PyRef id) {
  const auto* t = id->as<PyTuple>();
  const auto item = [&]<class T>(size_t i) { return t && i < t->items.size() ? t->items[i]->as<T>() : nullptr; };
  const auto* kind = item.template operator()<std::string>(0);
  const auto* type = item.template operator()<PyStorage>(1);
  const auto* key = item.template operator()<std::string>(2);
  const auto* count = item.template operator()<int64_t>(4);
  if (!kind || *kind != "storage" || !type || !key || !count || *count < 0)
    return broken("a persistent id is not that of a storage");
  auto it = loaded_.find(*key);
  if (it == loaded_.end()) {
    EW_ASSIGN(Bytes found, storages_.find(*key));
    it = loaded_.emplace(*key, std::move(found)).first;
  }
  const Bytes& bytes = it->second;
  const auto need = checked_mul(*count, static_cast<int64_t>(size_of(type->dtype)));
  if (!need || static_cast<uint64_t>(*need) != bytes.data.size())
    return fail(Code::kMalformed, "storage '{}' has {} bytes, not {} elements of {}", *key, bytes.data.size(), *count,
                name(type->dtype));
  return make(PyStorage{type->dtype, type->typed, bytes});
}

Result<bool> Machine::step() {
  EW_ASSIGN(const uint8_t op, number<uint8_t>());
  const auto push = [&](auto v) { stack_.push_back(make(std::move(v))); };
  switch (op) {
    case 0x80: {  // PROTO
      EW_ASSIGN(const uint8_t version, number<uint8_t>());
      if (version > 5) return fail(Code::kUnsupported, "pickle protocol {}", version);
      break;
    }
    case 0x95: {  // FRAME
      EW_TRY(number<uint64_t>());
      break;
    }
    case 'B':  // BINBYTES and its short form: only objects that are refused hold bytes
    case 'C': {
      uint64_t n = 0;
      if (op == 'B') {
        EW_ASSIGN(n, number<uint32_t>());
      } else {
        EW_ASSIGN(n, number<uint8_t>());
      }
      if (!take(n)) return truncated();
      push(PyRefused{"bytes"});
      break;
    }
    case '.': return false;
    case '(': marks_.push_back(stack_.size()); break;
    case '0': EW_TRY(pop()); break;
    case 'N': push(PyNone{}); break;
    case 0x88: push(true); break;
    case 0x89: push(false); break;
    case 'K': {
      EW_ASSIGN(const uint8_t v, number<uint8_t>());
      push(static_cast<int64_t>(v));
      break;
    }
    case 'M': {
      EW_ASSIGN(const uint16_t v, number<uint16_t>());
      push(static_cast<int64_t>(v));
      break;
    }
    case 'J': {
      EW_ASSIGN(const int32_t v, number<int32_t>());
      push(static_cast<int64_t>(v));
      break;
    }
    case 0x8a: {  // LONG1
      EW_ASSIGN(const uint8_t n, number<uint8_t>());
      EW_TRY(integer(n));
      break;
    }
    case 0x8b: {  // LONG4
      EW_ASSIGN(const uint32_t n, number<uint32_t>());
      EW_TRY(integer(n));
      break;
    }
    case 'G': {  // BINFLOAT, big-endian
      EW_ASSIGN(const uint64_t v, number<uint64_t>());
      const uint64_t swapped = __builtin_bswap64(v);
      double d;
      std::memcpy(&d, &swapped, 8);
      push(d);
      break;
    }
    case 0x8c: {  // SHORT_BINUNICODE
      EW_ASSIGN(const uint8_t n, number<uint8_t>());
      EW_ASSIGN(std::string s, text(n));
      push(std::move(s));
      break;
    }
    case 'X': {  // BINUNICODE
      EW_ASSIGN(const uint32_t n, number<uint32_t>());
      EW_ASSIGN(std::string s, text(n));
      push(std::move(s));
      break;
    }
    case 0x8d: {  // BINUNICODE8
      EW_ASSIGN(const uint64_t n, number<uint64_t>());
      EW_ASSIGN(std::string s, text(n));
      push(std::move(s));
      break;
    }
    case ')': push(PyTuple{}); break;
    case 0x85: EW_TRY(tuple(1)); break;
    case 0x86: EW_TRY(tuple(2)); break;
    case 0x87: EW_TRY(tuple(3)); break;
    case 't': {
      EW_ASSIGN(auto items, pop_mark());
      push(PyTuple{std::move(items)});
      break;
    }
    case ']': push(PyList{}); break;
    case 'l': {
      EW_ASSIGN(auto items, pop_mark());
      push(PyList{std::move(items)});
      break;
    }
    case '}': push(PyDict{}); break;
    case 'd': {
      EW_ASSIGN(auto items, pop_mark());
      push(PyDict{});
      EW_TRY(set_items(items));
      break;
    }
    case 'a': {
      EW_ASSIGN(PyRef x, pop());
      EW_TRY(append({x}));
      break;
    }
    case 'e': {
      EW_ASSIGN(auto items, pop_mark());
      EW_TRY(append(std::move(items)));
      break;
    }
    case 's': {
      EW_ASSIGN(PyRef value, pop());
      EW_ASSIGN(PyRef key, pop());
      EW_TRY(set_items({key, value}));
      break;
    }
    case 'u': {
      EW_ASSIGN(auto items, pop_mark());
      EW_TRY(set_items(items));
      break;
    }
    case 'q': {
      EW_ASSIGN(const uint8_t slot, number<uint8_t>());
      EW_TRY(put(slot));
      break;
    }
    case 'r': {
      EW_ASSIGN(const uint32_t slot, number<uint32_t>());
      EW_TRY(put(slot));
      break;
    }
    case 0x94: EW_TRY(put(memo_.size())); break;  // MEMOIZE
    case 'h': {
      EW_ASSIGN(const uint8_t slot, number<uint8_t>());
      EW_TRY(get(slot));
      break;
    }
    case 'j': {
      EW_ASSIGN(const uint32_t slot, number<uint32_t>());
      EW_TRY(get(slot));
      break;
    }
    case 'c': {
      EW_ASSIGN(std::string module, line());
      EW_ASSIGN(std::string name, line());
      EW_TRY(global(std::move(module), std::move(name)));
      break;
    }
    case 0x93: {  // STACK_GLOBAL
      EW_ASSIGN(PyRef name, pop());
      EW_ASSIGN(PyRef module, pop());
      if (!name->as<std::string>() || !module->as<std::string>()) return broken("a global's name is not a string");
      EW_TRY(global(*module->as<std::string>(), *name->as<std::string>()));
      break;
    }
    case 'R': {
      EW_ASSIGN(PyRef args, pop());
      EW_ASSIGN(PyRef f, pop());
      if (!args->as<PyTuple>()) return broken("a call's arguments are not a tuple");
      if (f->as<PyGlobal>()) {
        EW_ASSIGN(PyRef r, call(*f->as<PyGlobal>(), *args->as<PyTuple>()));
        stack_.push_back(r);
      } else if (f->as<DType>() || f->as<PyStorage>() || f->as<PyRefused>()) {
        push(PyRefused{"a call"});
      } else {
        return broken("something that is not a function is called");
      }
      break;
    }
    case 0x81: {  // NEWOBJ
      EW_ASSIGN(PyRef args, pop());
      EW_ASSIGN(PyRef type, pop());
      if (!args->as<PyTuple>() || !type->as<PyGlobal>()) return broken("an object of something that is not a class");
      push(refused(*type->as<PyGlobal>(), *args->as<PyTuple>()));
      break;
    }
    case 'b': {  // BUILD: the attributes of an OrderedDict (a state dict's _metadata) or a tensor mean nothing here
      EW_ASSIGN(PyRef state, pop());
      if (stack_.empty() ||
          (!stack_.back()->as<PyDict>() && !stack_.back()->as<PyRefused>() && !stack_.back()->as<ir::Tensor>()))
        return broken("state is set on something without");
      if (auto* object = std::get_if<PyRefused>(&edit(stack_.back())->v)) object->state = state;
      break;
    }
    case 'Q': {
      EW_ASSIGN(PyRef id, pop());
      EW_ASSIGN(PyRef s, storage(id));
      stack_.push_back(s);
      break;
    }
    default:
      return fail(Code::kUnsupported,
                  "pickle opcode 0x{:02x} at byte {}, which tensors in plain containers do not need", op, at_ - 1);
  }
  if (out_.objects.size() > kMaxObjects || stack_.size() > kMaxObjects || marks_.size() > kMaxObjects)
    return broken("it makes too many objects");
  return true;
}

Result<Pickle> Machine::run() {
  for (;;) {
    EW_ASSIGN(const bool more, step());
    if (!more) break;
  }
  if (stack_.size() != 1 || !marks_.empty()) return broken("it ends with other than one object");
  out_.root = stack_[0];
  return std::move(out_);
}

class ArchiveStorages final : public PickleStorages {
 public:
  ArchiveStorages(const ZipArchive& zip, std::string prefix) : zip_(zip), prefix_(std::move(prefix)) {}
  Result<Bytes> find(const std::string& key) override {
    const ZipEntry* e = zip_.find(prefix_ + "data/" + key);
    if (!e) return fail(Code::kMalformed, "storage '{}' is missing", key);
    return zip_.read(*e);
  }

 private:
  const ZipArchive& zip_;
  std::string prefix_;
};
}  // namespace

Bytes aligned_for(DType dtype, Bytes b) {
  if (reinterpret_cast<uintptr_t>(b.data.data()) % alignment_of(dtype) == 0) return b;
  const ir::Tensor t = ir::Tensor::empty(DType::u8, {static_cast<int64_t>(b.data.size())});
  std::memcpy(const_cast<std::byte*>(t.data), b.data.data(), b.data.size());
  return {{t.data, b.data.size()}, t.owner, false};
}

Result<void> check_sizes(std::span<const int64_t> sizes) {
  if (sizes.size() > kMaxRank) return fail(Code::kMalformed, "a tensor of {} dims", sizes.size());
  int64_t n = 1;
  for (const int64_t s : sizes) {
    if (s < 0) return fail(Code::kMalformed, "a tensor of size {}", s);
    const auto product = checked_mul(n, std::max<int64_t>(s, 1));
    if (!product || *product >= int64_t{1} << 46) return fail(Code::kMalformed, "a tensor larger than any memory");
    n = *product;
  }
  return {};
}

Result<ir::Tensor> tensor_over(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset,
                               const Bytes& bytes) {
  EW_TRY(check_sizes(sizes));
  // An expanded tensor has more elements than its storage: a little more is usual, without limit it is a trap.
  const auto n = checked_numel(sizes);
  const auto logical = n ? checked_mul(*n, static_cast<int64_t>(size_of(dtype))) : std::nullopt;
  if (!logical || static_cast<uint64_t>(*logical) / 64 > bytes.data.size() + (1u << 20))
    return fail(Code::kMalformed, "a tensor of {} elements over a storage of {} bytes", n.value_or(-1),
                bytes.data.size());
  const Bytes b = aligned_for(dtype, bytes);
  return ir::Tensor::from_storage(dtype, std::move(sizes), std::move(strides), offset, b.data, b.owner);
}

Result<Pickle> read_pickle(std::span<const std::byte> bytes, PickleStorages& storages) {
  return Machine(bytes, storages).run();
}

Result<Pickle> read_torch_save(const Bytes& bytes) {
  EW_ASSIGN(const auto zip, ZipArchive::open(bytes.data, bytes.owner));
  const ZipEntry* pkl = nullptr;
  for (const ZipEntry& e : zip->entries())
    if (e.name == "data.pkl" || (e.name.ends_with("/data.pkl") && e.name.find('/') == e.name.size() - 9)) {
      if (pkl) return fail(Code::kMalformed, "two pickles ('{}', '{}') in one torch.save file", pkl->name, e.name);
      pkl = &e;
    }
  if (!pkl) return fail(Code::kMalformed, "not a torch.save file: there is no data.pkl");
  const std::string prefix(pkl->name.substr(0, pkl->name.size() - 8));
  if (const ZipEntry* order = zip->find(prefix + "byteorder")) {
    EW_ASSIGN(const Bytes b, zip->read(*order));
    if (b.text() != "little")
      return fail(Code::kUnsupported, "torch.save file in byte order '{}'", b.text().substr(0, 16));
  }
  EW_ASSIGN(const Bytes code, zip->read(*pkl));
  ArchiveStorages storages(*zip, prefix);
  return read_pickle(code.data, storages);
}

}  // namespace edgewright::read

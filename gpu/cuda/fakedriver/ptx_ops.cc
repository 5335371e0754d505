// Instructions that compute. Each is one line: its PTX name and what it does to a lane.
//
// Subnormals are kept but where a name says ftz. Results of f32 arithmetic that are no number are the NaN that GPUs give.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ptx_machine.h"

namespace ptx {
namespace {

using std::string;

std::unordered_map<string, Operation> table;

// Lanes applies a function of the registers' types to every lane; all at once where all take part.
template <class F, class Signature> struct Lanes;
template <class F, class R, class... A> struct Lanes<F, R (*)(A...)> {
  template <size_t... I> static void go(Machine& m, const Instruction& i, u32 lanes, std::index_sequence<I...>) {
    R* to = m.at<R>(i.to[0]);
    auto from = std::make_tuple(m.at<A>(i.from[I])...);
    if (lanes == ALL) {
#pragma GCC ivdep
      for (unsigned l = 0; l < LANES; l++) to[l] = F{}(std::get<I>(from)[l]...);
      return;
    }
    for (; lanes; lanes &= lanes - 1) {
      unsigned l = first(lanes);
      to[l] = F{}(std::get<I>(from)[l]...);
    }
  }
  static void run(Machine& m, const Instruction& i, u32 lanes) { go(m, i, lanes, std::index_sequence_for<A...>{}); }
  static Operation operation() { return {run, sizeof(R), {sizeof(A)...}, sizeof...(A), Kind::PLAIN}; }
};

template <class F> void lane(const string& name, F) { table[name] = Lanes<F, decltype(+F{})>::operation(); }

// Compare sets the bits of a predicate.
template <class F, class Signature> struct Compare;
template <class F, class A> struct Compare<F, bool (*)(A, A)> {
  static void run(Machine& m, const Instruction& i, u32 lanes) {
    const A *a = m.at<A>(i.from[0]), *b = m.at<A>(i.from[1]);
    u32 bits = 0, *to = m.at<u32>(i.to[0]);
    for (unsigned l = 0; l < LANES; l++) bits |= u32(F{}(a[l], b[l])) << l;
    *to = (*to & ~lanes) | (bits & lanes);
  }
};
template <class F> void compare(const string& name, F) {
  using S = decltype(+F{});
  using A = decltype([]<class T>(bool (*)(T, T)) { return T{}; }(S{}));
  table["setp." + name] = {Compare<F, S>::run, 1, {sizeof(A), sizeof(A)}, 2, Kind::PLAIN};
}

// masks makes an instruction on predicates, all lanes in one word.
template <class F> void masks(const string& name, int sources, F) {
  Run run = [](Machine& m, const Instruction& i, u32 lanes) {
    u32 *to = m.at<u32>(i.to[0]), bits = F{}(*m.at<u32>(i.from[0]), i.sources > 1 ? *m.at<u32>(i.from[1]) : 0);
    *to = (*to & ~lanes) | (bits & lanes);
  };
  table[name] = {run, 1, {1, 1}, sources, Kind::PLAIN};
}

void integers() {
  for (string s : {".s", ".u"}) {
    lane("add" + s + "16", [](u16 a, u16 b) -> u16 { return a + b; });
    lane("mul.lo" + s + "16", [](u16 a, u16 b) -> u16 { return u32(a) * b; });
    lane("add" + s + "32", [](u32 a, u32 b) { return a + b; });
    lane("add" + s + "64", [](u64 a, u64 b) { return a + b; });
    lane("sub" + s + "32", [](u32 a, u32 b) { return a - b; });
    lane("sub" + s + "64", [](u64 a, u64 b) { return a - b; });
    lane("mul.lo" + s + "32", [](u32 a, u32 b) { return a * b; });
    lane("mul.lo" + s + "64", [](u64 a, u64 b) { return a * b; });
    lane("mad.lo" + s + "32", [](u32 a, u32 b, u32 c) { return a * b + c; });
    lane("mad.lo" + s + "64", [](u64 a, u64 b, u64 c) { return a * b + c; });
  }
  lane("mul.hi.u32", [](u32 a, u32 b) -> u32 { return u64(a) * b >> 32; });
  lane("mul.hi.s32", [](s32 a, s32 b) -> s32 { return s64(a) * b >> 32; });
  lane("mul.wide.s16", [](s16 a, s16 b) { return s32(a) * b; });
  lane("mul.wide.u16", [](u16 a, u16 b) { return u32(a) * b; });
  lane("mul.wide.s32", [](s32 a, s32 b) { return s64(a) * b; });
  lane("mul.wide.u32", [](u32 a, u32 b) { return u64(a) * b; });
  lane("neg.s32", [](u32 a) { return 0 - a; });
  lane("neg.s64", [](u64 a) { return 0 - a; });
  lane("min.s32", [](s32 a, s32 b) { return std::min(a, b); });
  lane("max.s32", [](s32 a, s32 b) { return std::max(a, b); });
  lane("min.u32", [](u32 a, u32 b) { return std::min(a, b); });
  lane("max.u32", [](u32 a, u32 b) { return std::max(a, b); });
  lane("min.s64", [](s64 a, s64 b) { return std::min(a, b); });
  lane("max.s64", [](s64 a, s64 b) { return std::max(a, b); });
  lane("min.u64", [](u64 a, u64 b) { return std::min(a, b); });
  lane("max.u64", [](u64 a, u64 b) { return std::max(a, b); });
}

// divide makes div and rem. The PTX ISA leaves division by zero open: it is a finding.
template <class T> void divide(const string& type) {
  auto make = [&](const string& name, auto f) {
    using F = decltype(f);
    Run run = [](Machine& m, const Instruction& i, u32 lanes) {
      const T *a = m.at<T>(i.from[0]), *b = m.at<T>(i.from[1]);
      for (; lanes; lanes &= lanes - 1) {
        unsigned l = first(lanes);
        if (b[l] == 0) m.find(l, "division by zero");
        m.at<T>(i.to[0])[l] = F{}(a[l], b[l]);
      }
    };
    table[name + type] = {run, sizeof(T), {sizeof(T), sizeof(T)}, 2, Kind::PLAIN};
  };
  make("div.", [](T a, T b) -> T { return std::is_signed_v<T> && b == T(-1) ? T(0) - a : a / b; });
  make("rem.", [](T a, T b) -> T { return std::is_signed_v<T> && b == T(-1) ? T(0) : a % b; });
}

u32 extract(u32 a, u32 from, u32 count) {
  from &= 255, count &= 255;
  if (from > 31 || !count) return 0;
  return count > 31 ? a >> from : a >> from & ((1u << count) - 1);
}

s32 extract_signed(s32 a, u32 from, u32 count) {
  from &= 255, count &= 255;
  if (!count) return 0;
  u32 sign = a >> std::min<u32>(from + count - 1, 31) & 1, bits = 0;
  for (u32 b = 0; b < 32; b++) bits |= (b < count && from + b < 32 ? u32(a) >> (from + b) & 1 : sign) << b;
  return bits;
}

u32 insert(u32 a, u32 into, u32 from, u32 count) {
  from &= 255, count &= 255;
  for (u32 b = 0; b < count && from + b < 32; b++) into = (into & ~(1u << (from + b))) | (a >> b & 1) << (from + b);
  return into;
}

u32 permute(u32 a, u32 b, u32 selector) {
  u64 both = u64(b) << 32 | a;
  u32 result = 0;
  for (int n = 0; n < 4; n++) {
    u32 which = selector >> 4 * n & 15, byte = both >> 8 * (which & 7) & 255;
    if (which & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * n;
  }
  return result;
}

u32 reverse(u32 a) {
  u32 r = 0;
  for (int b = 0; b < 32; b++) r |= (a >> b & 1) << (31 - b);
  return r;
}

void bits() {
  lane("and.b16", [](u16 a, u16 b) -> u16 { return a & b; });
  lane("and.b32", [](u32 a, u32 b) { return a & b; });
  lane("and.b64", [](u64 a, u64 b) { return a & b; });
  lane("or.b16", [](u16 a, u16 b) -> u16 { return a | b; });
  lane("or.b32", [](u32 a, u32 b) { return a | b; });
  lane("or.b64", [](u64 a, u64 b) { return a | b; });
  lane("xor.b32", [](u32 a, u32 b) { return a ^ b; });
  lane("xor.b64", [](u64 a, u64 b) { return a ^ b; });
  lane("not.b32", [](u32 a) { return ~a; });
  lane("not.b64", [](u64 a) { return ~a; });
  masks("and.pred", 2, [](u32 a, u32 b) { return a & b; });
  masks("or.pred", 2, [](u32 a, u32 b) { return a | b; });
  masks("xor.pred", 2, [](u32 a, u32 b) { return a ^ b; });
  masks("not.pred", 1, [](u32 a, u32) { return ~a; });
  masks("mov.pred", 1, [](u32 a, u32) { return a; });
  lane("shl.b32", [](u32 a, u32 n) { return n > 31 ? 0 : a << n; });
  lane("shl.b64", [](u64 a, u32 n) { return n > 63 ? 0 : a << n; });
  lane("shr.u32", [](u32 a, u32 n) { return n > 31 ? 0 : a >> n; });
  lane("shr.u64", [](u64 a, u32 n) { return n > 63 ? 0 : a >> n; });
  lane("shr.s32", [](s32 a, u32 n) { return a >> (n > 31 ? 31 : n); });
  lane("shr.s64", [](s64 a, u32 n) { return a >> (n > 63 ? 63 : n); });
  lane("popc.b32", [](u32 a) -> u32 { return __builtin_popcount(a); });
  lane("brev.b32", [](u32 a) { return reverse(a); });
  lane("bfind.shiftamt.u32", [](u32 a) -> u32 { return a ? __builtin_clz(a) : ALL; });
  lane("bfe.u32", [](u32 a, u32 from, u32 count) { return extract(a, from, count); });
  lane("bfe.s32", [](s32 a, u32 from, u32 count) { return extract_signed(a, from, count); });
  lane("bfi.b32", [](u32 a, u32 into, u32 from, u32 count) { return insert(a, into, from, count); });
  lane("prmt.b32", [](u32 a, u32 b, u32 selector) { return permute(a, b, selector); });
}

template <class T> void comparisons(const string& type) {
  compare("eq." + type, [](T a, T b) { return a == b; });
  compare("ne." + type, [](T a, T b) { return std::is_floating_point_v<T> ? a < b || a > b : a != b; });
  compare("lt." + type, [](T a, T b) { return a < b; });
  compare("le." + type, [](T a, T b) { return a <= b; });
  compare("gt." + type, [](T a, T b) { return a > b; });
  compare("ge." + type, [](T a, T b) { return a >= b; });
  if (!std::is_floating_point_v<T>) return;
  compare("neu." + type, [](T a, T b) { return a != b; });  // u: true also if one is no number
  compare("ltu." + type, [](T a, T b) { return !(a >= b); });
  compare("gtu." + type, [](T a, T b) { return !(a <= b); });
  compare("geu." + type, [](T a, T b) { return !(a < b); });
  compare("num." + type, [](T a, T b) { return a == a && b == b; });
  compare("nan." + type, [](T a, T b) { return a != a || b != b; });
}

f32 canonical(f32 v) { return v != v ? std::bit_cast<f32>(0x7fffffffu) : v; }
f32 flush(f32 v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.f, v) : v; }

f32 larger(f32 a, f32 b) {
  if (a != a || b != b) return canonical(a != a ? b : a);
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

// rounded computes with another rounding than to nearest.
template <class F> f32 rounded(int mode, F f) {
  int before = fegetround();
  fesetround(mode);
  volatile f32 r = f();
  fesetround(before);
  return r;
}

s32 truncate(f32 a) {
  if (a != a) return 0;
  return a >= 0x1p31f ? INT32_MAX : a <= -0x1p31f ? INT32_MIN : s32(a);
}

void floats() {
  for (string r : {"", ".rn"}) {
    lane("add" + r + ".f32", [](f32 a, f32 b) { return canonical(a + b); });
    lane("sub" + r + ".f32", [](f32 a, f32 b) { return canonical(a - b); });
    lane("mul" + r + ".f32", [](f32 a, f32 b) { return canonical(a * b); });
    lane("add" + r + ".f64", [](f64 a, f64 b) { return a + b; });
    lane("sub" + r + ".f64", [](f64 a, f64 b) { return a - b; });
    lane("mul" + r + ".f64", [](f64 a, f64 b) { return a * b; });
  }
  lane("fma.rn.f32", [](f32 a, f32 b, f32 c) { return canonical(__builtin_fmaf(a, b, c)); });
  lane("fma.rn.f64", [](f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); });
  lane("fma.rm.f32", [](f32 a, f32 b, f32 c) {
    volatile f32 x = a, y = b, z = c;
    return canonical(rounded(FE_DOWNWARD, [&] { return __builtin_fmaf(x, y, z); }));
  });
  lane("add.rz.f32", [](f32 a, f32 b) {
    volatile f32 x = a, y = b;
    return canonical(rounded(FE_TOWARDZERO, [&] { return x + y; }));
  });
  lane("div.rn.f32", [](f32 a, f32 b) { return canonical(a / b); });
  lane("rcp.rn.f32", [](f32 a) { return canonical(1 / a); });
  lane("sqrt.rn.f32", [](f32 a) { return canonical(std::sqrt(a)); });
  lane("rcp.approx.ftz.f32", [](f32 a) { return canonical(flush(1 / flush(a))); });
  lane("ex2.approx.f32", [](f32 a) { return canonical(std::exp2(a)); });
  lane("ex2.approx.ftz.f32", [](f32 a) { return canonical(flush(std::exp2(flush(a)))); });
  // The upper word of the result; the lower is 0.
  lane("rcp.approx.ftz.f64", [](f64 a) { return std::bit_cast<f64>(std::bit_cast<u64>(1 / a) >> 32 << 32); });
  lane("max.f32", [](f32 a, f32 b) { return larger(a, b); });
  lane("neg.f32", [](u32 a) { return a ^ 1u << 31; });
  lane("abs.f32", [](u32 a) { return a & ~(1u << 31); });
  lane("neg.f64", [](u64 a) { return a ^ u64(1) << 63; });
  lane("cvt.f64.f32", [](f32 a) { return f64(a); });
  lane("cvt.rn.f32.f64", [](f64 a) { return canonical(f32(a)); });
  lane("cvt.rn.f32.s16", [](s16 a) { return f32(a); });
  lane("cvt.rn.f32.s32", [](s32 a) { return f32(a); });
  lane("cvt.rn.f32.u32", [](u32 a) { return f32(a); });
  lane("cvt.rmi.f32.f32", [](f32 a) { return canonical(std::floor(a)); });
  lane("cvt.rni.f32.f32", [](f32 a) { return canonical(std::nearbyint(a)); });
  lane("cvt.rzi.f32.f32", [](f32 a) { return canonical(std::trunc(a)); });
  lane("cvt.sat.f32.f32", [](f32 a) { return a > 0 ? std::min(a, 1.f) : 0.f; });
  lane("cvt.rzi.s32.f32", [](f32 a) { return truncate(a); });
}

// convert makes a conversion between integers: registers may be wider than the types.
template <class D, class S> void convert(const string& types) {
  Run run = [](Machine& m, const Instruction& i, u32 lanes) {
    for (; lanes; lanes &= lanes - 1) m.put(i.to[0], first(lanes), u64(s64(D(S(m.get(i.from[0], first(lanes)))))));
  };
  table["cvt." + types] = {run, 0, {0}, 1, Kind::PLAIN};
}

template <class S> void conversions(const string& from) {
  convert<s8, S>("s8." + from), convert<u8, S>("u8." + from);
  convert<s16, S>("s16." + from), convert<u16, S>("u16." + from);
  convert<s32, S>("s32." + from), convert<u32, S>("u32." + from);
  convert<s64, S>("s64." + from), convert<u64, S>("u64." + from);
}

template <class T> void choose(const string& type) {
  Run run = [](Machine& m, const Instruction& i, u32 lanes) {
    T* to = m.at<T>(i.to[0]);
    const T *a = m.at<T>(i.from[0]), *b = m.at<T>(i.from[1]);
    u32 which = *m.at<u32>(i.from[2]);
    for (; lanes; lanes &= lanes - 1) {
      unsigned l = first(lanes);
      to[l] = which >> l & 1 ? a[l] : b[l];
    }
  };
  table["selp." + type] = {run, sizeof(T), {sizeof(T), sizeof(T), 1}, 3, Kind::SELECT};
}

void moves() {
  for (string t : {"s16", "u16", "b16"}) lane("mov." + t, [](u16 a) { return a; });
  for (string t : {"s32", "u32", "b32", "f32"}) lane("mov." + t, [](u32 a) { return a; });
  for (string t : {"s64", "u64", "b64", "f64"}) lane("mov." + t, [](u64 a) { return a; });
  lane("mov.pack", [](u32 low, u32 high) { return u64(high) << 32 | low; });
  Run unpack = [](Machine& m, const Instruction& i, u32 lanes) {
    for (; lanes; lanes &= lanes - 1) {
      u64 both = m.get(i.from[0], first(lanes));
      m.put(i.to[0], first(lanes), u32(both)), m.put(i.to[1], first(lanes), both >> 32);
    }
  };
  table["mov.unpack"] = {unpack, 4, {8}, 1, Kind::PLAIN};
  Run global = [](Machine& m, const Instruction& i, u32 lanes) {
    for (; lanes; lanes &= lanes - 1) {
      u64 address = m.get(i.from[0], first(lanes));
      if (address >= SHARED_WINDOW && address < 2 * SHARED_WINDOW) m.find(first(lanes), "an address of shared memory becomes a global one");
      m.put(i.to[0], first(lanes), address);
    }
  };
  table["cvta.to.global.u64"] = {global, 8, {8}, 1, Kind::PLAIN};
  lane("cvta.shared.u64", [](u64 a) { return a + SHARED_WINDOW; });
  for (string t : {"s16", "u16", "b16"}) choose<u16>(t);
  for (string t : {"s32", "u32", "b32", "f32"}) choose<u32>(t);
  for (string t : {"s64", "u64", "b64", "f64"}) choose<u64>(t);
}

bool fill() {
  integers(), bits(), floats(), moves();
  divide<u32>("u32"), divide<s32>("s32"), divide<u64>("u64"), divide<s64>("s64");
  comparisons<s16>("s16"), comparisons<u16>("u16"), comparisons<u16>("b16");
  comparisons<s32>("s32"), comparisons<u32>("u32"), comparisons<u32>("b32");
  comparisons<s64>("s64"), comparisons<u64>("u64"), comparisons<u64>("b64");
  comparisons<f32>("f32"), comparisons<f64>("f64");
  conversions<s8>("s8"), conversions<u8>("u8"), conversions<s16>("s16"), conversions<u16>("u16");
  conversions<s32>("s32"), conversions<u32>("u32"), conversions<s64>("s64"), conversions<u64>("u64");
  return true;
}

}  // namespace

const Operation* find_operation(const std::string& name) {
  static const bool filled = fill();
  auto it = table.find(name);
  return filled && it != table.end() ? &it->second : nullptr;
}

}  // namespace ptx

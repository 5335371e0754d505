// A parsed kernel. Private to ptx*.cc.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ptx.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef __noinline__

namespace ptx {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;

constexpr unsigned LANES = 32;
constexpr u32 ALL = ~u32(0);

// Generic addresses from here on are of shared memory.
constexpr u64 SHARED_WINDOW = u64(1) << 60;

struct Machine;
struct Instruction;

// Run does an instruction for the lanes of a warp, a bit each.
using Run = void (*)(Machine&, const Instruction&, u32 lanes);

// Operand is a register of a warp, or a constant, which lies among the registers: bytes for each lane, or, of a predicate
// (bytes = 1), one mask.
struct Operand {
  u32 at = 0;        // bytes from the start of the warp's registers
  u32 reg = 0;       // number of the register; 0: always defined
  s64 shift = 0;     // of an address, in bytes
  u8 bytes = 0;
};

enum class Kind : u8 { PLAIN, SELECT, MEMORY, BRANCH, RETURN, BLOCK_BARRIER, WARP_BARRIER, SHUFFLE, VOTE };
enum class Space : u8 { GENERIC, GLOBAL, SHARED, PARAM };

struct Instruction {
  Run run = nullptr;
  Kind kind = Kind::PLAIN;
  Space space = Space::GENERIC;
  u8 element = 0;             // of memory: bytes of one
  u8 results = 0, sources = 0;
  bool is_signed = false;     // of loads: extended by sign
  bool guarded = false, negated = false;
  char mode = 0;              // of shuffles: the first letter of the PTX mode
  Operand guard;
  Operand to[4], from[5];     // of stores the address is the last source, of loads the only one
  u32 target = 0;             // of branches
  u32 line = 0;
  std::string text;
};

// Register of a warp.
struct Register {
  u32 at;
  u8 bytes;
};

// Counts are what a kernel has done. A request is one instruction of a warp; a sector has 32 bytes; a wave is what the banks of
// shared memory serve at once.
struct Counts {
  u64 launches = 0, warp_instructions = 0, thread_instructions = 0;
  u64 load_requests = 0, load_sectors = 0, load_bytes = 0;
  u64 store_requests = 0, store_sectors = 0, store_bytes = 0;
  u64 shared_requests = 0, shared_waves = 0;

  void add(const Counts& other);
};

// The special registers, in this order from number 1 on.
constexpr const char* SPECIAL[] = {"%tid.x", "%ntid.x", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid"};

}  // namespace ptx

struct PtxKernel {
  EmuKernel shape{};
  std::string name;
  std::vector<unsigned> sizes, offsets;  // of parameters, in bytes
  std::vector<ptx::Instruction> code;
  std::vector<ptx::Register> registers;
  ptx::u32 register_bytes = 0;
  std::vector<std::pair<ptx::Operand, ptx::u64>> constants;  // the value of each lane
  ptx::u32 static_shared = 0;
  unsigned most_threads = 1024;
  unsigned grain = 2;  // log₂ of the bytes that are watched together: no store is shorter

  mutable std::mutex lock;  // guards what follows
  mutable ptx::Counts counts;
  mutable std::vector<ptx::u64> runs;  // of each instruction
};

struct PtxModule {
  std::map<std::string, std::unique_ptr<PtxKernel>> kernels;
};

namespace ptx {

// Refusal is what the parser does not take.
struct Refusal {
  std::string what;
};

// parse fills a module, or throws a Refusal (ptx_parse.cc).
void parse(const std::string& text, PtxModule& module);

// Library is every module that was loaded, by its text: a second load finds it.
struct Library {
  std::mutex lock;
  std::map<std::string, std::shared_ptr<PtxModule>> modules;
};
Library& library();

// Operation is an instruction that computes: how, and the bytes of its operands, 0 for any. Masks count as 1 byte.
struct Operation {
  Run run;
  u8 result;
  u8 source[4];
  int sources;
  Kind kind;
};

// find_operation returns the operation of a PTX name, or nullptr.
const Operation* find_operation(const std::string& name);

// Instructions of memory.
void load(Machine& m, const Instruction& i, u32 lanes);
void store(Machine& m, const Instruction& i, u32 lanes);
void load_parameter(Machine& m, const Instruction& i, u32 lanes);

}  // namespace ptx

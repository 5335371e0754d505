// What runs a kernel: warps, memory, and who touched what. One per OS thread that runs grids. Private to ptx*.cc.
#pragma once
#include <cstring>
#include <memory>
#include <unordered_map>

#include "ptx_code.h"

namespace ptx {

// Warp is the state of 32 threads. Masks have a bit for each lane.
struct Warp {
  u32 pc[LANES];
  u32 exist, exited, at_barrier, at_collective;
  u32 epoch;                 // changes with each bar.warp.sync of all lanes
  std::vector<char> file;    // the registers
  char* registers;           // in file, aligned
  std::vector<u32> defined;  // of each register: written
  std::vector<u32> unsound;  // of each register: made of memory never written
  bool any_unsound;
};

// Cell is the last write of a place in memory, and the reads since. Times are Machine::epoch; who is a thread of its block, the
// epoch of its warp, and flags.
struct Cell {
  u32 write_time, writer, read_time, reader;
};

// Watch is where a history of memory begins: what happened before does not count.
struct Watch {
  u32 since;   // the start of the grid, or for shared memory of the block
  const char* memory;
};

struct Machine {
  const PtxKernel* kernel = nullptr;
  const Instruction* now = nullptr;
  emu_dim3 grid{}, block_index{};
  std::vector<Warp> warps;
  Warp* warp = nullptr;
  unsigned warp_number = 0;
  std::vector<char> parameters;
  Counts counts;
  std::vector<u64> runs;
  bool counting = false;  // sectors and waves

  // Shared memory of the block.
  std::vector<char> shared;
  std::vector<u8> shared_written;  // a byte for each
  std::vector<Cell> shared_cells;
  u32 shared_bytes = 0;

  // Global memory.
  std::vector<EmuMemory> ranges;
  size_t last_range = 0;
  std::unordered_map<u64, std::unique_ptr<Cell[]>> pages;
  struct Recent { u64 page; Cell* cells; } recent[64];

  // Times grow with each grid, block and barrier.
  u32 epoch = 0, grid_start = 0, block_start = 0, warp_epochs = 0;

  Machine() { forget(); }
  template <class T> T* at(const Operand& o) { return reinterpret_cast<T*>(warp->registers + o.at); }
  u64 get(const Operand& o, unsigned lane);
  void put(const Operand& o, unsigned lane, u64 value);
  u32 thread(unsigned lane) const { return warp_number * LANES + lane; }

  // find ends the grid: what a lane of the running warp has done wrong.
  [[noreturn]] void find(unsigned lane, const char* format, ...) __attribute__((format(printf, 3, 4)));

  // ptx_memory.cc
  void begin_memory(size_t dynamic);
  void begin_shared();
  void forget();

 private:
  friend struct Access;
  Cell* page_of(u64 address);
};

// Finding is a line about what a kernel did wrong.
struct Finding {
  std::string text;
};

inline unsigned first(u32 lanes) { return __builtin_ctz(lanes); }

// What the interpreter does to grids: ptx_run.cc.
void run_grid(Machine& m, emu_dim3 grid, unsigned threads, u64 order);

}  // namespace ptx

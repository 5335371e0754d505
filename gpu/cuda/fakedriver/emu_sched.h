// State of the emulator, one per OS thread that runs grids. Private to emu*.cc.
#pragma once
#include "emu_run.h"
#include <csetjmp>
#include <string>
#include <vector>
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

// Collective is what a warp's lanes meet for.
enum class Collective : uint8_t { NONE, SYNC, SHUFFLE, BALLOT };

// Meeting is a collective that has begun: lanes of one mask, some of which have arrived.
struct Meeting {
  unsigned mask, arrived;
  Collective kind;
};

struct Warp {
  unsigned exist, exited;
  uint32_t epoch;  // __syncwarp calls of all its lanes so far
  Meeting meeting[32];
};

enum class State : uint8_t { NEW, READY, AT_BLOCK, AT_WARP, DONE };

struct Thread {
  emu_dim3 index;
  unsigned lane;
  unsigned number;  // in its block
  Warp* warp;
  State state;
  unsigned mask;  // of the meeting it waits in
  uint64_t give, take;  // what it brings to a meeting, and what it has got there
  unsigned from;        // the lane whose gift it wants
  void* sp;
  char* stack;
};

// Touch is the last write to a word of shared memory and the reads since.
struct Touch {
  uint32_t write_epoch, write_warp_epoch, read_epoch, read_warp_epoch;
  uint16_t writer, reader;
  bool many;    // more than one reader in read_warp_epoch
  bool across;  // readers of more than one warp in read_epoch
};

struct Site {
  const void* key;
  char* at;
};

struct Scheduler {
  static constexpr size_t STACK = 64 << 10;
  static constexpr size_t SHARED = 256 << 10;  // more than any GPU gives a block

  // The grid.
  const EmuKernel* kernel = nullptr;
  void** params = nullptr;
  emu_dim3 grid{}, block{}, block_index{};
  size_t dynamic = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<unsigned> order, blocks;
  Thread* current = nullptr;
  void* main_sp = nullptr;
  unsigned live = 0, waiting = 0;  // threads of the block that have not ended; those in __syncthreads
  bool running = false;
  std::string message;
  sigjmp_buf escape;  // where a refused memory access ends

  // Memory.
  std::vector<char*> stacks;
  char* shared = nullptr;
  size_t shared_used = 0;
  std::vector<Site> sites;
  std::vector<Touch> touches;
  uint32_t epoch = 1;  // grows with each __syncthreads and each block
  std::vector<EmuMemory> ranges;
  size_t last_range = 0;

  ~Scheduler();
  char* take_stack();
  void begin_shared();
  void* place_shared(size_t bytes);
  void touch_shared(uintptr_t address, size_t bytes, bool write);
};

extern thread_local Scheduler emu_scheduler;

// emu_catch_signals makes refused memory accesses of kernels end their grid, on this thread.
void emu_catch_signals();

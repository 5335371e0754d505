// How the fake driver runs kernels. Safe from several OS threads at once; a grid runs on the thread that calls.
#pragma once
#include "emu.h"

// The first registered kernel; the others follow by next.
extern EmuKernel* emu_kernels;

// emu_find returns the kernel of that name, or nullptr.
const EmuKernel* emu_find(const char* name);

// emu_run_grid runs a whole grid. params[i] points to the i-th argument. It returns nullptr, or one line that says what the
// kernel did wrong; the line is valid until this thread runs the next grid, and the rest of the grid has not run.
const char* emu_run_grid(const EmuKernel* kernel, emu_dim3 grid, emu_dim3 block, size_t dynamic_shared, void** params);

// emu_set_order sets the order of a block's threads, and of a grid's blocks, for grids that start from now on: "forward"
// (default), "reverse" or "random:SEED". It returns false for anything else.
bool emu_set_order(const char* order);

// emu_order returns that setting: 0 forward, 1 reverse, else 2 + SEED.
uint64_t emu_order();

// emu_ask asks whoever emu_set_memory named.
struct EmuMemory;
EmuMemory emu_ask(uintptr_t address);

// EmuMemory is what the fake driver knows of an address: live device memory lo ≤ address < hi, device address space without
// live memory (what says why, such as "freed block" or "2 bytes behind a block of 400"), or not a device's at all.
struct EmuMemory {
  enum Kind { HOST, LIVE, DEAD } kind;
  uintptr_t lo, hi;
  char what[160];
  unsigned char* written = nullptr;  // of live memory: whether each byte was ever written; nullptr: nobody keeps account
};

// emu_set_memory tells whom to ask about addresses. The function is called with no lock held, from threads that run grids.
// Without it only addresses that the operating system refuses are found.
void emu_set_memory(EmuMemory (*lookup)(uintptr_t address));

// Runs PTX: the text that a GPU's driver compiles, instruction by instruction. The shipped kernels run in tests as they are shipped.
//
// A module is parsed when it is loaded (ptx_module.cc, ptx_parse.cc). A grid runs on the thread that calls, block after block; a warp's
// registers lie lane by lane, and an instruction runs for all lanes of a warp that stand at it (ptx_run.cc). In the orders
// "forward" and "reverse" lanes that stand at the lowest instruction go first, which is where branches meet again. In the
// orders "random:SEED" any lanes go, for any number of steps: threads of a warp are then independent, as they are since sm_70,
// and warps and blocks come in any order.
//
// A finding ends the grid; it names kernel, block, thread, lane and line. Found are:
//   - accesses of memory out of bounds, misaligned, or of a device without access
//   - registers, shared memory and global memory read before they are written. A vector may reach beyond what was written:
//     what it brings from there may not decide a branch, be an address or a result in memory
//   - two threads that touch one place, one of them writing, with nothing between that orders them: bar.sync in a block,
//     bar.warp.sync in a warp, the end of the grid for blocks
//   - bar.sync that not all threads of the block reach, together with their warp
//   - collectives of a warp that lanes of the mask do not reach, or reach elsewhere or with another mask
//   - integer division by zero
// Arithmetic is what the PTX ISA says. Approximate instructions are off by less than it allows.
//
// Not modelled: time, caches, several blocks at once, memory order within a grid but for what is said above.
#pragma once
#include <memory>
#include <string>

#include "emu_run.h"

struct PtxModule;
struct PtxKernel;

// ptx_load parses a module, or finds it parsed; nullptr if it holds what this interpreter does not know, and *why says where.
std::shared_ptr<PtxModule> ptx_load(const std::string& text, std::string* why);

// ptx_find returns a kernel of a module, or nullptr. It lives as long as the module.
const PtxKernel* ptx_find(const PtxModule& module, const char* name);

// ptx_shape returns the kernel's name and parameters.
const EmuKernel* ptx_shape(const PtxKernel* kernel);

// ptx_run_grid runs a grid as emu_run_grid does: nullptr, or the finding, valid until this thread runs the next grid.
const char* ptx_run_grid(const PtxKernel* kernel, emu_dim3 grid, emu_dim3 block, size_t dynamic_shared, void** params);

// ptx_profile writes into the folder FAKECUDA_PROFILE, if the environment names one, what all kernels of this process have done:
// a file named by the process, written anew by every call. A kernel has a line of counts, and a line for each instruction that
// never ran.
void ptx_profile();

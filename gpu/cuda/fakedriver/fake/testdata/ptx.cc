// Runs the kernels of a PTX file by a script on standard input: ptx FILE ORDER, order as emu_set_order takes it, or "sources" for
// the kernels that g++ has compiled. Linked with the fake driver's library, whose calls of CUDA it does not use.
//
//   buffer NAME BYTES          a block of device memory, filled with 0
//   bare NAME BYTES            a block that nobody has written
//   write NAME BYTES           says that its first bytes have been written
//   ints NAME FIRST STEP       fills it with the int32 FIRST, FIRST + STEP, …
//   longs NAME FIRST STEP      likewise with int64
//   floats NAME FIRST STEP     likewise with float32; without STEP all are the same
//   random NAME                fills it with float32 between -1 and 1
//   halves NAME                likewise with bf16
//   cycle NAME COUNT           fills it with the int32 0, 1, …, COUNT - 1, 0, 1, …
//   gap NAME USED STRIDE       says that of every STRIDE bytes nobody has written those from USED on; they hold NaN
//   launch KERNEL GX GY BLOCK SHARED ARGUMENT…
//   case NAME                  ends what was before, and begins again without buffers
//   want RESULT                ends the program if the case so far comes to something else
//
// An argument is @NAME (the buffer's address) or @NAME+BYTES, an integer, or a float with a point in it. Prints the first finding; else "ok" and a
// hash of all buffers; of cases a line for each, behind its name.
#include "ptx.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>

#include "script.h"

namespace {

constexpr size_t ARENA = 1 << 24;
alignas(256) char arena[ARENA];
unsigned char written[ARENA];
std::shared_ptr<PtxModule> module;

EmuMemory look_up(uintptr_t address) {
  uintptr_t lo = reinterpret_cast<uintptr_t>(arena);
  if (address - lo >= ARENA) return {EmuMemory::HOST, 0, 0, ""};
  for (const auto& [name, b] : buffers) {
    uintptr_t from = reinterpret_cast<uintptr_t>(b.at);
    if (address - from < b.size) return {EmuMemory::LIVE, from, from + b.size, "", written + (from - lo)};
  }
  EmuMemory m = {EmuMemory::DEAD, 0, 0, ""};
  snprintf(m.what, sizeof m.what, "no live block is there");
  return m;
}

template <class T> void write(const Buffer& b, T first, T step) {
  fill(b, first, step);
  memset(written + (b.at - arena), 1, b.size);
}

void fill_random(const Buffer& b) {
  uint64_t state = b.at - arena;
  for (size_t i = 0; i < b.size / 4; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    reinterpret_cast<float*>(b.at)[i] = float(int32_t(state >> 32)) * 0x1p-31f;
  }
}

bool sources = false;

const char* launch(std::istringstream& in) {
  Launch l(in);
  if (sources) {
    const EmuKernel* k = emu_find(l.kernel.c_str());
    return k ? emu_run_grid(k, {l.gx, l.gy, 1}, {l.block, 1, 1}, l.shared, l.params.data()) : "no such kernel";
  }
  const PtxKernel* k = ptx_find(*module, l.kernel.c_str());
  if (!k) return "no such kernel";
  if (int(l.words.size()) != ptx_shape(k)->count) return "wrong number of arguments";
  return ptx_run_grid(k, {l.gx, l.gy, 1}, {l.block, 1, 1}, l.shared, l.params.data());
}

void fill_halves(const Buffer& b) {
  uint32_t state = b.at - arena;
  for (size_t i = 0; i < b.size / 2; i++) {
    state = state * 1664525 + 1013904223;
    reinterpret_cast<uint16_t*>(b.at)[i] = (state >> 16 & 0x8000) | (0x3e00 + (state >> 16 & 0x17f));
  }
}

void prepare(const std::string& word, std::istringstream& in) {
  std::string name;
  double a = 0, b = 0;
  in >> name >> a >> b;
  if (word == "buffer" || word == "bare") {
    memset(written + used, word == "buffer", size_t(a));
    add_buffer(name, arena, size_t(a));
  } else if (word == "write") {
    memset(written + (buffers.at(name).at - arena), 1, size_t(a));
  } else if (word == "ints") {
    write<int32_t>(buffers.at(name), a, b);
  } else if (word == "longs") {
    write<int64_t>(buffers.at(name), a, b);
  } else if (word == "floats") {
    write<float>(buffers.at(name), a, b);
  } else if (word == "halves") {
    fill_halves(buffers.at(name));
  } else if (word == "cycle") {
    const Buffer& to = buffers.at(name);
    write<int32_t>(to, 0, 0);
    for (size_t i = 0; i < to.size / 4; i++) reinterpret_cast<int32_t*>(to.at)[i] = i % size_t(a);
  } else if (word == "gap") {
    const Buffer& to = buffers.at(name);
    for (size_t i = 0; i < to.size; i++)
      if (i % size_t(b) >= size_t(a)) to.at[i] = char(0xff), written[to.at - arena + i] = 0;
  } else {
    fill_random(buffers.at(name));
  }
}

int finish(const std::string& said) {
  ptx_profile();
  std::cout << said << "\n";
  return 0;
}

std::string hashed() {
  uint64_t hash = 14695981039346656037u;
  for (const auto& [name, b] : buffers)
    for (size_t i = 0; i < b.size; i++) hash = (hash ^ (unsigned char)b.at[i]) * 1099511628211u;
  std::ostringstream said;
  said << "ok " << std::hex << hash;
  return said.str();
}

// forget makes all memory what it was at the start.
void forget() {
  buffers.clear();
  memset(arena, 0, used);
  memset(written, 0, used);
  used = 256;
}

}  // namespace

int main(int count, char** args) {
  if (count != 3) return 2;
  sources = std::string(args[2]) == "sources";
  if (!emu_set_order(sources ? "forward" : args[2])) return 2;
  std::stringstream text;
  text << std::ifstream(args[1]).rdbuf();
  std::string why, line, word;
  module = ptx_load(text.str(), &why);
  if (!module) return finish(why);
  emu_set_memory(look_up);
  std::string title, wrong;
  auto said = [&] { return (title.empty() ? "" : title + " ") + (wrong.empty() ? hashed() : wrong); };
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    if (!(in >> word)) continue;
    if (word == "case") {
      if (!title.empty()) std::cout << said() << "\n";
      forget();
      wrong.clear();
      in >> title;
    } else if (word == "want") {
      std::string result;
      std::getline(in >> std::ws, result);
      if (said() != result) return finish(said());
    } else if (!wrong.empty()) {
      continue;  // the rest of a case that has gone wrong
    } else if (word != "launch") {
      prepare(word, in);
    } else if (const char* finding = launch(in)) {
      wrong = finding;
    }
  }
  return finish(said());
}

// Runs kernels by a script on standard input, without a driver:
//
//   buffer NAME BYTES          a block of device memory, filled with 0
//   ints NAME FIRST STEP       fills it with the int32 FIRST, FIRST + STEP, …
//   longs NAME FIRST STEP      likewise with int64
//   floats NAME VALUE          fills it with a float32
//   launch KERNEL GX GY BLOCK SHARED ARGUMENT…
//
// An argument is @NAME (the buffer's address), an integer, or a float with a point in it. Prints what the emulator says of the
// first launch that goes wrong, or "ok".
#include "emu_run.h"

#include <cstdio>
#include <iostream>

#include "script.h"

namespace {

std::vector<char> arena(1 << 24);

EmuMemory look_up(uintptr_t address) {
  uintptr_t lo = reinterpret_cast<uintptr_t>(arena.data());
  if (address - lo >= arena.size()) return {EmuMemory::HOST, 0, 0, ""};
  for (const auto& [name, b] : buffers) {
    uintptr_t from = reinterpret_cast<uintptr_t>(b.at);
    if (address - from < b.size) return {EmuMemory::LIVE, from, from + b.size, ""};
  }
  EmuMemory m = {EmuMemory::DEAD, 0, 0, ""};
  snprintf(m.what, sizeof m.what, "no live block is there");
  return m;
}

const char* launch(std::istringstream& in) {
  Launch l(in);
  const EmuKernel* k = emu_find(l.kernel.c_str());
  if (!k) return "no such kernel";
  if (int(l.words.size()) != k->count) return "wrong number of arguments";
  return emu_run_grid(k, {l.gx, l.gy, 1}, {l.block, 1, 1}, l.shared, l.params.data());
}

}  // namespace

int main() {
  emu_set_memory(look_up);
  std::string line, word, name;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    if (!(in >> word)) continue;
    if (word == "launch") {
      if (const char* wrong = launch(in)) {
        std::cout << wrong << "\n";
        return 0;
      }
      continue;
    }
    double a = 0, b = 0;
    in >> name >> a >> b;
    if (word == "buffer") {
      add_buffer(name, arena.data(), size_t(a));
    } else if (word == "ints") {
      fill<int32_t>(buffers.at(name), a, b);
    } else if (word == "longs") {
      fill<int64_t>(buffers.at(name), a, b);
    } else {
      fill<float>(buffers.at(name), a, 0);
    }
  }
  std::cout << "ok\n";
}

// What the fake driver is to be: FAKECUDA when cuInit is called, and fakecuda_configure later, while nobody has a stream, an
// event or memory.
//
// "n=2;mem=4096,2048;cc=80,61;p2p=01/10;seed=7;stretch=48;jitter=200;order=random:3;dropwait=5;dropsync=2;lost=1:400;nopin=1;outlive=1"
// mem in MiB and cc per device, the last for the rest; p2p one row per device; the rest as in Config, order as emu_set_order.
#include <cstdlib>
#include <cstring>

#include "driver.h"

State G;

static std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (;;) {
    size_t to = text.find(at, from);
    parts.push_back(text.substr(from, to == std::string::npos ? to : to - from));
    if (to == std::string::npos) return parts;
    from = to + 1;
  }
}

static std::vector<double> numbers(const std::string& text) {
  std::vector<double> all;
  for (auto& p : split(text, ',')) all.push_back(atof(p.c_str()));
  return all;
}

bool parse(const char* text, Config* out) {
  Config c;
  bool ordered = false;
  for (auto& item : split(text, ';')) {
    size_t eq = item.find('=');
    if (item.empty()) continue;
    if (eq == std::string::npos) return false;
    std::string key = item.substr(0, eq), value = item.substr(eq + 1);
    if (key == "n") c.devices = atoi(value.c_str());
    else if (key == "mem") c.mebibytes = numbers(value);
    else if (key == "cc") c.capability = numbers(value);
    else if (key == "p2p") c.peers = split(value, '/');
    else if (key == "seed") c.seed = strtoul(value.c_str(), nullptr, 10);
    else if (key == "stretch") c.stretch = std::max(1, atoi(value.c_str()));
    else if (key == "jitter") c.jitter = atoi(value.c_str());
    else if (key == "dropwait") c.drop_wait = atol(value.c_str());
    else if (key == "dropsync") c.drop_sync = atol(value.c_str());
    else if (key == "nopin") c.refuse_pinning = value == "1";
    else if (key == "outlive") c.outlive = value == "1";
    else if (key == "order") ordered = emu_set_order(value.c_str());
    else if (key == "lost") {
      auto parts = split(value, ':');
      if (parts.size() != 2) return false;
      c.lost_device = atoi(parts[0].c_str());
      c.lost_after = atol(parts[1].c_str());
    } else return false;
  }
  if (!ordered) emu_set_order("forward");
  for (auto& row : c.peers)
    if (row.size() != c.peers.size()) return false;
  if (c.devices < 0 || c.devices > MOST_DEVICES || (!c.peers.empty() && (int)c.peers.size() != c.devices)) return false;
  *out = c;
  return true;
}

// fakecuda_configure makes the driver another one. It answers 0, or says what is wrong: 1 the text, 2 a stream, an event or memory is in use.
// Contexts that are retained stay, with what is loaded into them.
API int fakecuda_configure(const char* text) {
  Lock l(G.lock);
  for (auto& d : G.devices)
    if (!d.blocks.empty()) return 2;
  if (G.events) return 2;
  for (auto& p : G.primaries)
    if (p.context && p.references && p.context->streams.size() > (p.context->plain ? 1 : 0)) return 2;
  Config c;
  if (!parse(text, &c)) return 1;
  G.config = c;
  for (auto& p : G.primaries) {
    if (p.context && !p.references) end_context(l, p);
    if (p.context) p.context->peers.clear();
  }
  open_devices();
  return 0;
}

// fakecuda_profile writes what kernels have done so far, if FAKECUDA_PROFILE is set.
API void fakecuda_profile() { ptx_profile(); }

// fakecuda_count returns what the driver has seen since it was configured: kernels, waits of streams, waits of the host; and since
// the process began: contexts that were retained, modules that were loaded. Page-locked ranges and events are those that there are.
API long fakecuda_count(const char* what) {
  Lock l(G.lock);
  if (!strcmp(what, "launches")) return G.launches;
  if (!strcmp(what, "waits")) return G.waits;
  if (!strcmp(what, "syncs")) return G.syncs;
  if (!strcmp(what, "contexts")) return G.contexts;
  if (!strcmp(what, "modules")) return G.modules;
  if (!strcmp(what, "pinned")) return (long)G.pinned.size();
  if (!strcmp(what, "events")) return G.events;
  return -1;
}

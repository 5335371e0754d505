// The parser: PTX as nvcc 11.8 writes it. What is unknown is refused with its line.
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "ptx_code.h"

namespace ptx {
namespace {

using std::string;
using std::vector;

string trim(const string& s) {
  size_t from = s.find_first_not_of(" \t\n"), to = s.find_last_not_of(" \t\n");
  return from == string::npos ? "" : s.substr(from, to - from + 1);
}

// split cuts at a separator outside of brackets and braces.
vector<string> split(const string& s, char separator) {
  vector<string> parts;
  string part;
  int depth = 0;
  for (char c : s) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == separator && !depth) {
      parts.push_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trim(part).empty()) parts.push_back(trim(part));
  return parts;
}

vector<string> words(const string& s) {
  vector<string> all;
  for (auto& w : split(s, ' '))
    if (!w.empty()) all.push_back(w);
  return all;
}

// elements of a vector operand, or the operand itself.
vector<string> elements(const string& s) { return s[0] == '{' ? split(s.substr(1, s.size() - 2), ',') : vector<string>{s}; }

// bytes of a type such as "f32" or ".b64"; predicates count as 1.
u8 bytes_of(const string& type) {
  size_t digits = type.find_first_of("0123456789");
  return digits == string::npos ? 1 : std::max(1, atoi(type.c_str() + digits) / 8);
}

u32 align(u32 n, u32 to) { return (n + to - 1) / to * to; }

class Parser {
 public:
  Parser(const string& text, PtxModule& module) : text(text), module(module) { scopes.emplace_back(); }
  void parse();

 private:
  const string& text;
  PtxModule& module;
  size_t at = 0;
  unsigned line = 1;
  PtxKernel* k = nullptr;
  vector<std::map<string, u32>> scopes;  // registers by name
  std::map<std::pair<u64, u8>, Operand> constants;
  std::map<string, u32> labels, parameters, shared;
  vector<std::pair<size_t, string>> jumps;
  vector<string> module_shared;  // declared outside of kernels: placed in those that name them

  [[noreturn]] void refuse(const string& what) const { throw Refusal{"line " + std::to_string(line) + ": " + what}; }
  void step() { line += text[at++] == '\n'; }
  void space();
  string until(const char* ends);
  void entry();
  void parameter(const string& declaration);
  void body();
  void directive(const string& s);
  void place(const string& declaration);
  void place_named(const string& statement);
  u32 add_register(const string& name, u8 bytes);
  Operand constant(u64 value, u8 bytes);
  Operand operand(const string& s, u8 bytes);
  Operand address(string s, Space space);
  void instruction(const string& s);
  void control(Instruction& i, const string& name, const vector<string>& parts, const vector<string>& args);
  void memory(Instruction& i, const vector<string>& parts, const vector<string>& args);
  void compute(Instruction& i, const string& name, const vector<string>& args);
  void result(Instruction& i, const Operand& o) { i.to[i.results++] = o; }
  void source(Instruction& i, const Operand& o) { i.from[i.sources++] = o; }
};

void Parser::space() {
  while (at < text.size()) {
    if (isspace((u8)text[at])) step();
    else if (text.compare(at, 2, "//") == 0) while (at < text.size() && text[at] != '\n') at++;
    else return;
  }
}

// until reads to one of the characters, without comments.
string Parser::until(const char* ends) {
  string s;
  while (at < text.size() && !strchr(ends, text[at])) {
    if (text.compare(at, 2, "//") == 0) {
      while (at < text.size() && text[at] != '\n') at++;
      continue;
    }
    s += isspace((u8)text[at]) ? ' ' : text[at];
    step();
  }
  if (at >= text.size()) refuse("the text ends");
  return trim(s);
}

void Parser::parse() {
  for (space(); at < text.size(); space()) {
    if (text.compare(at, 7, ".extern") == 0) {
      until(";"), step();
    } else if (text.compare(at, 7, ".shared") == 0) {
      module_shared.push_back(until(";")), step();
    } else if (text.compare(at, 8, ".visible") == 0) {
      entry();
    } else if (text[at] == '.') {
      until("\n");  // .version, .target, .address_size
    } else {
      refuse("not a directive");
    }
  }
}

void Parser::entry() {
  string head = until("(");
  step();
  size_t word = head.find(".entry ");
  if (word == string::npos) refuse("not a kernel: " + head);
  auto kernel = std::make_unique<PtxKernel>();
  k = kernel.get();
  k->name = trim(head.substr(word + 7));
  scopes.resize(1), scopes[0].clear(), constants.clear(), labels.clear(), parameters.clear(), shared.clear(), jumps.clear();
  k->registers.push_back({0, 4});  // number 0 stands for constants
  for (auto& declaration : split(until(")"), ',')) parameter(declaration);
  step();
  string attributes = until("{");
  step();
  size_t most = attributes.find(".maxntid");
  if (most != string::npos) k->most_threads = atoi(attributes.c_str() + most + 8);
  for (const char* name : SPECIAL) add_register(name, 4);
  body();
  for (auto& [instruction, label] : jumps) {
    auto it = labels.find(label);
    if (it == labels.end()) refuse("no label " + label);
    k->code[instruction].target = it->second;
  }
  k->runs.resize(k->code.size());
  k->shape = EmuKernel{k->name.c_str(), (int)k->sizes.size(), k->sizes.data(), nullptr, nullptr};
  module.kernels[k->name] = std::move(kernel);
}

// parameter takes ".param .u64 name".
void Parser::parameter(const string& declaration) {
  vector<string> w = words(declaration);
  if (w.size() != 3 || w[0] != ".param") refuse("parameter " + declaration);
  u32 bytes = bytes_of(w[1]), offset = k->offsets.empty() ? 0 : align(k->offsets.back() + k->sizes.back(), bytes);
  parameters[w[2]] = offset;
  k->sizes.push_back(bytes);
  k->offsets.push_back(offset);
}

void Parser::body() {
  scopes.emplace_back();
  while (scopes.size() > 1) {
    space();
    if (at >= text.size()) refuse("the text ends");
    if (text[at] == '{') {
      scopes.emplace_back(), step();
    } else if (text[at] == '}') {
      scopes.pop_back(), step();
    } else if (text[at] == '$') {
      labels[until(":")] = k->code.size(), step();
    } else if (text[at] == '.') {
      directive(until(";")), step();
    } else {
      unsigned first = line;
      string s = until(";");
      std::swap(line, first);  // a finding names the line on which the instruction begins
      place_named(s);
      instruction(s);
      std::swap(line, first);
      step();
    }
  }
}

void Parser::directive(const string& s) {
  vector<string> w = words(s);
  if (w[0] == ".pragma") return;
  if (w[0] == ".shared") return place(s);
  if (w[0] != ".reg" || w.size() < 3) refuse("directive " + s);
  u8 bytes = bytes_of(w[1]);
  size_t range = w[2].find('<');
  if (range == string::npos) {
    add_register(w[2], bytes);
    return;
  }
  for (int i = 0, n = atoi(w[2].c_str() + range + 1); i < n; i++) add_register(w[2].substr(0, range) + std::to_string(i), bytes);
}

// place takes ".shared .align 16 .b8 name[512]".
void Parser::place(const string& declaration) {
  vector<string> w = words(declaration);
  size_t bracket = w.size() == 5 ? w[4].find('[') : string::npos;
  if (bracket == string::npos || w[1] != ".align") refuse("shared memory " + declaration);
  k->static_shared = align(k->static_shared, atoi(w[2].c_str()));
  shared[w[4].substr(0, bracket)] = k->static_shared;
  k->static_shared += atoi(w[4].c_str() + bracket + 1) * bytes_of(w[3]);
}

// place_named places shared memory of the module that a statement names. What a launch asks for lies behind what is declared.
void Parser::place_named(const string& statement) {
  for (auto& declaration : module_shared) {
    string name = declaration.substr(declaration.rfind(' ') + 1);
    name.resize(name.find('['));
    if (statement.find(name) != string::npos && !shared.count(name)) place(declaration);
  }
  const char* dynamic = "capgnn_dynamic_shared";
  if (statement.find(dynamic) != string::npos) shared[dynamic] = align(k->static_shared, 16);
}

u32 Parser::add_register(const string& name, u8 bytes) {
  u32 size = bytes == 1 ? 4 : LANES * bytes;
  k->register_bytes = align(k->register_bytes, std::min(size, 64u));
  k->registers.push_back({k->register_bytes, bytes});
  k->register_bytes += size;
  return scopes.back()[name] = k->registers.size() - 1;
}

Operand Parser::constant(u64 value, u8 bytes) {
  auto [it, fresh] = constants.try_emplace({value, bytes});
  if (fresh) {
    u32 size = bytes == 1 ? 4 : LANES * bytes;
    k->register_bytes = align(k->register_bytes, std::min(size, 64u));
    it->second.at = k->register_bytes;
    it->second.bytes = bytes;
    k->register_bytes += size;
    k->constants.push_back({it->second, value});
  }
  return it->second;
}

// operand is a register or a constant of so many bytes; 0: as wide as the register is, 8 for constants.
Operand Parser::operand(const string& s, u8 bytes) {
  if (s.empty()) refuse("an operand is missing");
  if (s[0] == '%') {
    for (size_t i = scopes.size(); i-- > 0;) {
      auto it = scopes[i].find(s);
      if (it == scopes[i].end()) continue;
      const Register& r = k->registers[it->second];
      if (bytes && r.bytes != bytes) refuse("register " + s + " has not " + std::to_string(bytes) + " bytes");
      Operand o;
      o.at = r.at, o.reg = it->second, o.bytes = r.bytes;
      return o;
    }
    refuse("no register " + s);
  }
  if (!bytes) bytes = 8;
  if (s[0] == '0' && s.size() > 2 && strchr("fFdD", s[1])) return constant(strtoull(s.c_str() + 2, nullptr, 16), bytes);
  if (s[0] == '-') return constant((u64)strtoll(s.c_str(), nullptr, 0), bytes);
  if (isdigit((u8)s[0])) return constant(strtoull(s.c_str(), nullptr, 0), bytes);
  auto it = shared.find(s);
  if (it == shared.end()) refuse("operand " + s);
  return constant(it->second, bytes);
}

Operand Parser::address(string s, Space space) {
  if (s.size() < 3 || s.front() != '[' || s.back() != ']') refuse("address " + s);
  s = trim(s.substr(1, s.size() - 2));
  s64 shift = 0;
  size_t plus = s.find('+', 1);
  if (plus != string::npos) {
    shift = strtoll(s.c_str() + plus + 1, nullptr, 0);
    s = trim(s.substr(0, plus));
  }
  Operand o;
  if (space == Space::PARAM) {
    auto it = parameters.find(s);
    if (it == parameters.end()) refuse("no parameter " + s);
    shift += it->second;
  } else {
    o = operand(s, s[0] == '%' ? 0 : space == Space::SHARED ? 4 : 8);
  }
  o.shift = shift;
  return o;
}

void Parser::instruction(const string& s) {
  Instruction i;
  i.line = line;
  i.text = s;
  string rest = s;
  if (s[0] == '@') {
    size_t end = s.find(' ');
    i.guarded = true;
    i.negated = s[1] == '!';
    i.guard = operand(s.substr(1 + i.negated, end - 1 - i.negated), 1);
    rest = trim(s.substr(end));
  }
  size_t end = rest.find(' ');
  string name = rest.substr(0, end);
  vector<string> args = end == string::npos ? vector<string>{} : split(trim(rest.substr(end)), ','), parts = split(name, '.');
  if (parts[0] == "ld" || parts[0] == "st") memory(i, parts, args);
  else if (find_operation(name) || parts[0] == "mov") compute(i, name, args);
  else control(i, name, parts, args);
  k->code.push_back(std::move(i));
}

void Parser::control(Instruction& i, const string& name, const vector<string>& parts, const vector<string>& args) {
  if (name == "ret") {
    i.kind = Kind::RETURN;
  } else if (parts[0] == "bra" && args.size() == 1) {
    i.kind = Kind::BRANCH;
    jumps.push_back({k->code.size(), args[0]});
  } else if (name == "bar.sync" && args == vector<string>{"0"}) {
    i.kind = Kind::BLOCK_BARRIER;
  } else if (name == "bar.warp.sync" && args.size() == 1) {
    i.kind = Kind::WARP_BARRIER;
    source(i, operand(args[0], 4));
  } else if (name == "vote.sync.ballot.b32" && args.size() == 3) {
    i.kind = Kind::VOTE;
    result(i, operand(args[0], 4));
    source(i, operand(args[1], 1)), source(i, operand(args[2], 4));
  } else if (name.compare(0, 10, "shfl.sync.") == 0 && name.compare(name.size() - 4, 4, ".b32") == 0 && args.size() == 5) {
    i.kind = Kind::SHUFFLE;
    i.mode = parts[2][0];
    for (auto& r : split(args[0], '|')) result(i, operand(r, i.results ? 1 : 4));
    for (int n = 1; n < 5; n++) source(i, operand(args[n], 4));
  } else {
    refuse("unknown instruction " + i.text);
  }
}

void Parser::memory(Instruction& i, const vector<string>& parts, const vector<string>& args) {
  i.kind = Kind::MEMORY;
  if (args.size() != 2) refuse(i.text);
  unsigned length = 1;
  for (size_t n = 1; n + 1 < parts.size(); n++) {
    const string& p = parts[n];
    if (p == "global") i.space = Space::GLOBAL;
    else if (p == "shared") i.space = Space::SHARED;
    else if (p == "param") i.space = Space::PARAM;
    else if (p == "v2" || p == "v4") length = p[1] - '0';
    else if (p != "cs") refuse("unknown instruction " + i.text);  // cs: leaves the cache first
  }
  i.element = bytes_of(parts.back());
  i.is_signed = parts.back()[0] == 's';
  bool loads = parts[0] == "ld";
  for (auto& e : elements(args[loads ? 0 : 1]))
    if (loads) result(i, operand(e, 0));
    else source(i, operand(e, e[0] == '%' ? 0 : std::max<u8>(i.element, 2)));
  if ((loads ? i.results : i.sources) != length) refuse(i.text);
  source(i, address(args[loads ? 1 : 0], i.space));
  i.run = i.space == Space::PARAM ? load_parameter : loads ? load : store;
  if (!loads && i.element < 4) k->grain = std::min<unsigned>(k->grain, i.element == 2 ? 1 : 0);
}

void Parser::compute(Instruction& i, const string& name, const vector<string>& args) {
  string found = name;
  if (name == "mov.b64" && args.size() == 2 && (args[0][0] == '{' || args[1][0] == '{')) found = args[0][0] == '{' ? "mov.unpack" : "mov.pack";
  const Operation* op = find_operation(found);
  if (!op) refuse("unknown instruction " + i.text);
  i.run = op->run;
  i.kind = op->kind;
  if (args.size() < 2) refuse(i.text);
  for (auto& e : elements(args[0])) result(i, operand(e, op->result));
  for (size_t n = 1; n < args.size(); n++)
    for (auto& e : elements(args[n])) {
      if (i.sources == op->sources) refuse(i.text);
      source(i, operand(e, op->source[i.sources]));
    }
  if (i.sources != op->sources) refuse(i.text);
}

}  // namespace

void parse(const string& text, PtxModule& module) { Parser(text, module).parse(); }

}  // namespace ptx

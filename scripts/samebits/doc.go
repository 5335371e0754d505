// Command samebits runs two builds of capgnn on equal inputs, in the same folders one after the other, and compares all that they
// print and write, but for times. scripts/same-bits makes the builds and calls it.
//
// Its nouns: a testCase is a name and commands; facts are what came of it, a text by name, such as `run/metrics.jsonl 3.bytes.d2h`;
// a rule names facts of cases by a pattern and says why they may differ.
//
// What a run must be so that it can be compared:
//   - Training is on CPU devices of one thread, all alike, so that no device is measured; unequal devices are simulated ones,
//     whose speeds are those of a card's file. No plan depends on this machine.
//   - --order none, as auto measures.
//   - Every case has a home, a cache and a working folder of its own, which are empty. Data are made once, by the old build.
//   - Fields that time decides are named in leftOut. That they are there is compared; every other field is compared by value,
//     new ones too.
//
// Usage:
//
//	samebits -old DIR -new DIR -work DIR [-intended FILE]
//
// DIR holds capgnn and capgnn-noasm. FILE has one line for each intended difference: pattern, two blanks, why; lines that begin
// with # are free. In patterns * is any text. A rule that meets no difference is an error, so that none is left behind.
package main

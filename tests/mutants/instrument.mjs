// node instrument.mjs FOLDER FILE: changes a JavaScript file in place so that it holds all of its
// mutants, and prints the list of them. stryMutAct_9fa48(id) will be asked which one is active.
// FOLDER is where npm has put StrykerJS's instrumenter.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const [folder, name] = process.argv.slice(2);
const home = resolve(folder, "node_modules/@stryker-mutator/instrumenter/dist/src/index.js");
const { Instrumenter } = await import(home);
const content = readFileSync(name, "utf8");
const lines = content.split("\n");

/** The line that a mutant changes, - before and + after; of several lines the first. */
function difference({ start, end }, replacement) {
  const rest = lines[end.line].slice(end.column);
  const after = lines[start.line].slice(0, start.column) + replacement + rest;
  return `- ${lines[start.line].trim()}\n+ ${after.split("\n")[0].trim()}`;
}

const logger = { debug() {}, info() {}, isDebugEnabled: () => false };
const options = { plugins: [], excludedMutations: [], ignorers: [], noHeader: true };
const made = await new Instrumenter(logger).instrument([{ name, mutate: true, content }], options);
writeFileSync(name, made.files[0].content);
console.log(JSON.stringify(made.mutants.map(({ id, replacement, location }) => (
  { id, line: location.start.line + 1, diff: difference(location, replacement) }))));

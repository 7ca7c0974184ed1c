// Answers about rows, asked on standard input: {parameters, rows, cells}, cells being pairs of a row and a column.
import { readFileSync } from "node:fs";
import { rowModel } from "../../src/latentbits/report/files/js/inference.js";

const { parameters, rows, cells } = JSON.parse(readFileSync(0, "utf8"));
const model = rowModel(parameters);
const plain = (value) => (typeof value === "object" ? Array.from(value, plain) : Number.isFinite(value) ? value : String(value));
const told = (found) => Object.fromEntries(Object.entries(found).map(([name, value]) => [name, plain(value)]));
const started = performance.now();
const answers = rows.map((row) => model.answer(row));
const reasons = cells.map(([i, j]) => model.why(rows[i], j));
const milliseconds = performance.now() - started;
process.stdout.write(JSON.stringify({ answers: answers.map(told), reasons: reasons.map(told), milliseconds }));

// A file that Transom exported into a function from lines to their outputs.

import { readFileSync } from "node:fs";

import ort from "onnxruntime-node";

import { readMetadata } from "./metadata.mjs";
import { Tokenizer } from "./tokenizer.mjs";

const PAD = 0, FREE = -1, FORMAT = "2";

export class Package {
  static async load(path) {
    const metadata = readMetadata(readFileSync(path));
    if (metadata.get("transom.format") !== FORMAT)
      throw new Error(`${path}: not a package of format ${FORMAT}`);
    // Read from its path, a file finds the weights that may lie beside it.
    return new Package(await ort.InferenceSession.create(path, { logSeverityLevel: 4 }), metadata);
  }

  constructor(session, metadata) {
    const tokenizer = (side) =>
      new Tokenizer(metadata.get("transom.tokenizer") ?? metadata.get(`transom.tokenizer.${side}`));
    this.session = session;
    this.source = tokenizer("source");
    this.target = tokenizer("target");
    this.defaults = JSON.parse(metadata.get("transom.options"));
    this.positions = JSON.parse(metadata.get("transom.limits")).source;
    this.types = new Map(session.inputMetadata.map((input) => [input.name, input.type]));
  }

  // For each line its outputs, best first; all lines are one batch.
  async generate(lines, options = {}) {
    const asked = { ...this.defaults, ...options };
    if (asked.n_best > asked.beams) throw new Error("`n_best` is at most `beams`");
    const encoded = lines.map((line) => this.source.encode(line));
    const rows = encoded.filter((ids) => ids.length);
    const found = rows.length ? await this.#run(rows, asked) : [];
    const empty = [{ text: "", ids: [], score: 0, ended: true }];
    return encoded.map((ids) => (ids.length ? found.shift() : empty));
  }

  async #run(rows, asked) {
    const width = Math.max(...rows.map((ids) => ids.length));
    if (this.positions !== null && width > this.positions)
      throw new Error(`a line has ${width} tokens, and the model ${this.positions} positions`);
    const padded = rows.flatMap((ids) => [...ids, ...Array(width - ids.length).fill(PAD)]);
    const inputs = { source_ids: integers(padded, [rows.length, width]) };
    for (const [name, value] of Object.entries(asked)) inputs[name] = this.#scalar(name, value);
    if (this.types.has("target_prefix"))
      inputs.target_prefix = integers(Array(rows.length).fill(FREE), [rows.length, 1]);
    return this.#outputs(await this.session.run(inputs));
  }

  // onnxruntime-node ignores a name that is no plain input: better to refuse it.
  #scalar(name, value) {
    if (!this.types.has(name))
      throw new Error(
        Object.hasOwn(this.defaults, name)
          ? `\`${name}\` has a default, which Node cannot change: ` +
            "export the run with `--set export.options=inputs`"
          : `no option \`${name}\` in this file; its options: ${Object.keys(this.defaults)}`,
      );
    if (!Number.isFinite(value)) throw new Error(`\`${name}\` is a number`);
    if (this.types.get(name) === "float32") return new ort.Tensor("float32", [value], []);
    if (!Number.isSafeInteger(value)) throw new Error(`\`${name}\` is a whole number`);
    return integers([value], []);
  }

  #outputs({ target_ids, scores, lengths, ended }) {
    const [batch, best, width] = target_ids.dims;
    return Array.from({ length: batch }, (_, row) =>
      Array.from({ length: best }, (_, n) => row * best + n)
        .filter((at) => lengths.data[at] > 0n) // fewer than `n_best` may be found
        .map((at) => {
          const start = at * width, end = start + Number(lengths.data[at]);
          const ids = Array.from(target_ids.data.slice(start, end), Number);
          return {
            text: this.target.decode(ids),
            ids,
            score: scores.data[at],
            ended: Boolean(ended.data[at]),
          };
        }),
    );
  }
}

const integers = (values, dims) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), dims);

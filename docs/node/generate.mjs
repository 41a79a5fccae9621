// node generate.mjs FILE [--set beams=2]... [--json] LINE...
// Lines into lines with a file that was exported with `--set export.options=inputs`.

import { parseArgs } from "node:util";

import { Package } from "./package.mjs";

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      set: { type: "string", multiple: true, default: [] },
      json: { type: "boolean", default: false },
    },
  });
  const [path, ...lines] = positionals;
  if (!path) throw new Error("usage: node generate.mjs FILE [--set NAME=NUMBER]... [--json] LINE...");
  const pairs = values.set.map((text) => text.split("="));
  const options = Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)]));
  const file = await Package.load(path);
  const found = await file.generate(lines, options);
  for (const outputs of found)
    console.log(values.json ? JSON.stringify(outputs) : (outputs[0]?.text ?? ""));
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 2;
});

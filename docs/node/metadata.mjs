// The strings that an ONNX file carries beside its graph: onnxruntime-node does not show them.
// An ONNX file is one protobuf message; its field 14 holds pairs of a key (1) and a value (2).

const METADATA = 14, KEY = 1, VALUE = 2;

export function readMetadata(bytes) {
  const entries = new Map();
  for (const [field, entry] of fields(bytes)) {
    if (field !== METADATA) continue;
    const parts = new Map(fields(entry));
    entries.set(text(parts.get(KEY)), text(parts.get(VALUE)));
  }
  return entries;
}

function* fields(bytes) {
  let at = 0;
  const number = () => {
    let value = 0, scale = 1, byte;
    do {
      byte = bytes[at++];
      if (byte === undefined) throw new Error("not an ONNX file, or only a part of one");
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  };
  while (at < bytes.length) {
    const tag = number();
    const [field, kind] = [Math.floor(tag / 8), tag % 8];
    if (kind === 0) number();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else if (kind === 2) {
      const length = number();
      yield [field, bytes.subarray(at, at + length)];
      at += length;
    } else throw new Error("not an ONNX file");
  }
}

const text = (bytes) => new TextDecoder().decode(bytes);

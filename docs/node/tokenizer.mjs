// Text into ids and back, by the tokenizer in a file: the three kinds that a blueprint can ask for.

const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];

export class Tokenizer {
  constructor(json) {
    const { model, normalizer, pre_tokenizer } = JSON.parse(json);
    this.steps = normalizer.normalizers;
    this.vocabulary = new Map(Object.entries(model.vocab));
    this.pieces = new Map(Object.entries(model.vocab).map(([piece, id]) => [id, piece]));
    this.byWord = model.type === "WordLevel"; // otherwise characters, which merges may join
    this.ranks = new Map((model.merges ?? []).map((pair, rank) => [pair.join("\0"), rank]));
    this.splits = pre_tokenizer !== null; // every word begins with its space
  }

  // EOS ends what is not empty; an empty line has no ids and never reaches the graph.
  encode(line) {
    const text = this.#normalised(line);
    if (text === "") return [];
    const words = this.splits ? text.split(" ").map((word) => " " + word) : [text];
    const pieces = words.flatMap((word) => (this.byWord ? [word] : this.#merged([...word])));
    return [...pieces.map((piece) => this.vocabulary.get(piece) ?? UNK), EOS];
  }

  decode(ids) {
    const unknown = this.byWord ? " \ufffd" : "\ufffd";
    const real = ids.filter((id) => ![PAD, BOS, EOS].includes(id));
    const pieces = real.map((id) => (id === UNK ? unknown : this.pieces.get(id)));
    if (this.splits && pieces.length) pieces[0] = pieces[0].replace(/^ /, "");
    return pieces.join("");
  }

  #normalised(line) {
    return this.steps.reduce((text, step) => {
      if (step.type === "NFC") return text.normalize("NFC");
      if (step.type === "Lowercase") return [...text].map((c) => c.toLowerCase()).join("");
      return text.replace(new RegExp(step.pattern.Regex, "gu"), step.content);
    }, line);
  }

  // The pair that was learned first is joined first, from the left.
  #merged(pieces) {
    const rank = (at) => this.ranks.get(pieces[at] + "\0" + pieces[at + 1]) ?? Infinity;
    for (;;) {
      let best = 0;
      for (let at = 1; at < pieces.length - 1; at++) if (rank(at) < rank(best)) best = at;
      if (pieces.length < 2 || rank(best) === Infinity) return pieces;
      pieces.splice(best, 2, pieces[best] + pieces[best + 1]);
    }
  }
}

// The bits of a frame's body: "Body" in docs/protocol.md, as mirror.mjs reads it.

export const SLOT_BITS = 20;
const PLAINLY = 16; // the rest of a number in a Rice block that is too large for unary

// What is wrong with a frame.
export class Fault extends Error {}

export function need(condition, why) {
  if (!condition) throw new Fault(why);
}

export const bitsOf = (number) => (number === 0 ? 0 : number.toString(2).length);

function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Fault("a text is no UTF-8");
  }
}

// Bits, the highest of each byte first.
export class Bits {
  #bytes;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  get #left() {
    return this.#bytes.length * 8 - this.#at;
  }

  bit() {
    need(this.#left > 0, "the body ends too soon");
    const bit = (this.#bytes[this.#at >> 3] >> (7 - (this.#at & 7))) & 1;
    this.#at += 1;
    return bit;
  }

  take(width) {
    let number = 0;
    for (let n = 0; n < width; n += 1) number = number * 2 + this.bit();
    return number;
  }

  // Of things that take at least a bit each.
  count() {
    let number = 0, more;
    do {
      more = this.bit();
      number = number * 16 + this.take(4);
      need(number <= this.#left, "there is more than the body can hold");
    } while (more);
    return number;
  }

  // n numbers of up to `width` bits.
  rice(width, n) {
    if (n === 0) return [];
    const k = this.take(bitsOf(width));
    need(k <= width, "a Rice block has too many low bits");
    const rests = Array.from({ length: n }, () => this.#unary());
    const numbers = rests.map((rest) => rest * 2 ** k + this.take(k));
    return numbers.map((number, row) => (rests[row] === PLAINLY ? this.take(width) : number));
  }

  #unary() {
    let zeros = 0;
    while (!this.bit()) need(++zeros <= PLAINLY, "a unary number is too large");
    return zeros;
  }

  #ascending(width, n) {
    let next = 0;
    return this.rice(width, n).map((gap) => {
      const number = next + gap;
      next = number + 1;
      return number;
    });
  }

  slots() {
    return this.bit() ? this.#ascending(SLOT_BITS, this.count() + 1) : [];
  }

  // Which of n rows; at least so many.
  rows(n, least = 0) {
    const rows = this.#ascending(bitsOf(n), this.count() + least);
    need(rows.every((row) => row < n), "there is no such row");
    return rows;
  }

  texts(shape, n) {
    const different = Array.from({ length: this.count() }, () => {
      const bytes = Uint8Array.from({ length: this.count() }, () => this.take(8));
      const text = textOf(bytes);
      need([...text].length <= shape.length, "a text is too long");
      return text;
    });
    if (different.length === n) return different;
    if (shape.optional) different.unshift(null);
    const width = bitsOf(Math.max(different.length - 1, 0));
    return Array.from({ length: n }, () => {
      const text = different[this.take(width)];
      need(text !== undefined, "there is no such text");
      return text;
    });
  }

  end() {
    need(this.#left < 8 && this.take(this.#left) === 0, "the body goes on after its end");
  }
}

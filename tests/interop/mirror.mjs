// A mirror of replicated entities: binary frames in, entities out. Written from "Replication" in docs/protocol.md alone,
// as a pattern for other languages: it would rather be read than be fast.

import { Bits, Fault, SLOT_BITS, bitsOf, need } from "./bits.mjs";

const MOST_PRIVATE = 4096;
const FULL = 1, ACKNOWLEDGES = 2, PRIVATE = 4, BODY = 8;

function roundedToEven(number) {
  const rounded = Math.round(number);
  return rounded - number === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

// How a field's code is read, and what it means, from the shape in words.
export function shapeOf(words) {
  const [kind, ...rest] = words.split(" ");
  const [first, second, third] = rest.map(Number).filter((number) => !Number.isNaN(number));
  const coded = (largest, value, more) => ({ largest, bits: bitsOf(largest), value, ...more });
  if (kind === "bool") return coded(1, (code) => code === 1, { modulus: 2 });
  if (kind === "int") return coded(second - first, (code) => first + code);
  if (kind === "fixed") {
    const largest = Math.max(1, roundedToEven((second - first) / third));
    return coded(largest, (code) => first + code * third, { predicted: true });
  }
  if (kind === "angle") {
    const turn = 2 ** first;
    return coded(turn - 1, (code) => (code / turn) * 2 * Math.PI, { modulus: turn });
  }
  if (kind === "text") return { text: true, length: first, value: (text) => text };
  if (kind === "entity") return coded(2 ** 40 - 1, (id) => id || null, { reference: true });
  need(kind === "optional", `no such shape: ${words}`);
  const shape = shapeOf(rest.join(" "));
  if (shape.text) return { ...shape, optional: true };
  if (shape.reference) return shape; // which may be none anyway
  return coded(shape.largest + 1, (code) => (code === 0 ? null : shape.value(code - 1)));
}

const IDENTITY = [
  ["generation", "int 0 to 1048575"],
  ["owner", "int 0 to 2147483647"],
  ["parent", "entity"],
  ["archetype", "text of 64"],
];

const unzigzag = (number) => (number % 2 === 0 ? number / 2 : -(number + 1) / 2);

// Field `f` of these rows, as it is.
function absolute(bits, shape, f, rows) {
  if (rows.length === 0) return;
  const codes = shape.text ? bits.texts(shape, rows.length) : bits.rice(shape.bits, rows.length);
  const steps = shape.predicted && bits.bit() ? bits.rice(shape.bits + 1, rows.length).map(unzigzag) : [];
  rows.forEach((row, n) => {
    need(shape.text || codes[n] <= shape.largest, "a code is too large");
    row.codes[f] = codes[n];
    row.steps[f] = steps[n] ?? 0;
  });
}

// Field `f` of these rows, as far as it has changed. Whoever is not named keeps his code, and is at rest.
function difference(bits, shape, f, rows) {
  const steps = rows.map((row) => row.steps[f]);
  for (const row of rows) row.steps[f] = 0;
  if (!bits.bit()) return;
  if (shape.text) {
    const named = bits.rows(rows.length);
    bits.texts(shape, named.length).forEach((text, n) => (rows[named[n]].codes[f] = text));
    return;
  }
  const named = bits.bit() ? bits.rows(rows.length, 1) : [...rows.keys()];
  bits.rice(shape.bits + 1, named.length).forEach((number, n) => {
    const row = rows[named[n]];
    const before = row.codes[f];
    const step = shape.predicted ? steps[named[n]] : 0;
    let code = Math.min(Math.max(before + step, 0), shape.largest) + unzigzag(number);
    if (shape.modulus) code = (code + shape.modulus) % shape.modulus;
    need(code >= 0 && code <= shape.largest, "a difference leads too far");
    row.codes[f] = code;
    row.steps[f] = code - before;
  });
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit += 1) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

function crc32(bytes, begin) {
  let crc = ~begin;
  for (const byte of bytes) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const idOf = (slot, identity) => identity.codes[0] * 2 ** SLOT_BITS + slot;

function digestOf(identities) {
  let sum = 0;
  for (const [slot, identity] of identities) {
    const a = BigInt.asUintN(64, BigInt(idOf(slot, identity)) * 0x9e3779b97f4a7c15n);
    const c = BigInt.asUintN(64, (a ^ (a >> 32n)) * 0xd6e8feb86659fd93n);
    sum = (sum + Number(c >> 32n)) >>> 0;
  }
  return sum;
}

// The bytes of a frame, from its first.
class Head {
  at = 0;

  constructor(bytes) {
    this.bytes = bytes;
  }

  take(length) {
    need(this.at + length <= this.bytes.length, "the frame ends too soon");
    return this.bytes.subarray(this.at, (this.at += length));
  }

  varint() {
    let number = 0;
    for (let weight = 1; ; weight *= 128) {
      const [byte] = this.take(1);
      number += (byte & 127) * weight;
      need(number <= Number.MAX_SAFE_INTEGER, "a number is too large");
      if (byte < 128) return number;
    }
  }
}

export class Mirror {
  tick = 0;
  acknowledged = 0;
  connection = 0; // our number: whose owner it is, is ours
  private = null; // what came for us alone, with the newest frame that had any
  fault = ""; // why the newest frame could not be taken; empty if it could
  needsFull = true; // nothing but a full frame can be taken
  #names;
  #shapes;
  #tables; // of each component: by slot a row {codes, steps}, which is never changed but replaced
  #slots = 0;
  #counter = 0;

  // `components`: [[name, [[field, shape in words], …]], …], sorted by name.
  constructor(components) {
    const tables = [["", IDENTITY], ...components];
    this.#names = tables.map(([name, fields]) => ({ name, fields: fields.map(([field]) => field) }));
    this.#shapes = tables.map(([, fields]) => fields.map(([, words]) => shapeOf(words)));
    this.#tables = tables.map(() => new Map());
  }

  // Takes a frame, or nothing of it, and returns whether it did. If not, a full one has to come: see `fault`.
  take(bytes) {
    try {
      this.#take(bytes);
      this.fault = "";
      this.needsFull = false;
      return true;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.fault = error.message;
      this.needsFull = true;
      return false;
    }
  }

  #take(bytes) {
    need(bytes.length >= 7, "the frame is too short");
    const head = new Head(bytes.subarray(0, -4));
    const [kind, counter] = head.take(2);
    need(kind >> 4 === 0xa, "this is no frame");
    const isFull = kind & FULL;
    need(isFull || !this.needsFull, "only a full frame will do");
    need(isFull || counter === (this.#counter + 1) % 256, "a frame is missing");
    const tick = head.varint() + (isFull ? 0 : this.tick);
    const connection = isFull ? head.varint() : this.connection;
    const slots = isFull ? head.varint() : this.#slots;
    const base = isFull ? 0 : this.acknowledged;
    const acknowledged = base + (kind & ACKNOWLEDGES ? head.varint() : 0);
    const length = kind & PRIVATE ? head.varint() : 0;
    need(length <= MOST_PRIVATE, "too many private bytes");
    const own = kind & PRIVATE ? head.take(length) : null;
    const body = head.bytes.subarray(head.at);
    need(kind & BODY || body.length === 0, "there is a body that was not announced");

    const tables = this.#tables.map((table) => (isFull ? new Map() : new Map(table)));
    if (kind & BODY) this.#read(new Bits(body), tables, slots);
    const check = new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 4, true);
    need(crc32(bytes.subarray(0, head.at), crc32(body, digestOf(tables[0]))) === check, "the check fails");

    this.#tables = tables;
    this.#slots = slots;
    this.#counter = counter;
    Object.assign(this, { tick, connection, acknowledged, private: own ?? this.private });
  }

  #read(bits, tables, slots) {
    for (const slot of bits.slots()) {
      need(tables[0].has(slot), "who leaves is not here");
      for (const table of tables) table.delete(slot);
    }
    this.#shapes.forEach((shapes, n) => {
      if (!bits.bit()) return;
      const table = tables[n];
      const lost = n === 0 ? [] : bits.slots();
      for (const slot of lost) need(table.delete(slot), "who loses a component has none");
      const renewed = (slot) => {
        need(table.has(slot), "who changes is not here");
        const { codes, steps } = table.get(slot);
        table.set(slot, { codes: [...codes], steps: [...steps] });
        return table.get(slot);
      };
      const coming = bits.slots().map((slot) => {
        need(slot < slots && !table.has(slot) && (n === 0 || tables[0].has(slot)), "who comes cannot come");
        table.set(slot, { codes: [], steps: [] });
        return table.get(slot);
      });
      shapes.forEach((shape, f) => absolute(bits, shape, f, coming));
      const late = bits.slots().map(renewed);
      for (const row of late) row.steps.fill(0);
      if (late.length > 0) {
        shapes.forEach((shape, f) => absolute(bits, shape, f, bits.rows(late.length).map((row) => late[row])));
      }
      const changed = bits.slots().map(renewed);
      if (changed.length > 0) shapes.forEach((shape, f) => difference(bits, shape, f, changed));
    });
    bits.end();
  }

  // All entities by id: {owner, parent, archetype, <component>: {<field>: value}}. A reference to nobody here is null.
  entities() {
    const slots = [...this.#tables[0].keys()];
    const ids = slots.map((slot) => idOf(slot, this.#tables[0].get(slot)));
    const here = new Set(ids);
    const valuesOf = (n, slot) => {
      const { codes } = this.#tables[n].get(slot);
      const values = this.#shapes[n].map((shape, f) => {
        const value = shape.value(codes[f]);
        return [this.#names[n].fields[f], shape.reference && !here.has(value) ? null : value];
      });
      return Object.fromEntries(values);
    };
    const entityOf = (slot) => {
      const entity = valuesOf(0, slot);
      for (let n = 1; n < this.#tables.length; n += 1) {
        if (this.#tables[n].has(slot)) entity[this.#names[n].name] = valuesOf(n, slot);
      }
      return entity;
    };
    return new Map(slots.map((slot, n) => [ids[n], entityOf(slot)]));
  }
}

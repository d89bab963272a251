// A peer of the wire protocol: envelopes, presence, events, and driving an authority. `tell` hears all that happens.

import WebSocket from "ws";

import { Prediction } from "./prediction.mjs";

const BEAT_MS = 100;
const KEEPALIVE_BEATS = 5;
const STALE_MS = 3000;
const UNDER_WAY = 8; // inputs that may wait for their acknowledgement while driving

// The envelope in a text frame, or nothing if it is none.
function open(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && typeof value.from === "string" && "data" in value ? value : undefined;
}

const isPosition = (p) => Array.isArray(p) && p.length === 3 && p.every((part) => Number.isFinite(part));

const isPlace = (state) => Number.isFinite(state?.x) && Number.isFinite(state?.z);

export class Peer {
  #socket;
  #tell;
  #others = new Map();
  #events = new Set();
  #transform;
  #sent = "";
  #beats = 0;
  #timer;
  #prediction = new Prediction();
  #road = [];
  #driving = false;

  constructor(id, url, tell) {
    this.id = id;
    this.#tell = tell;
    this.#socket = new WebSocket(url, { perMessageDeflate: false });
    this.#socket.on("open", () => tell({ on: "open" }));
    this.#socket.on("error", (error) => tell({ on: "error", message: error.message }));
    this.#socket.on("close", (code, reason) => {
      clearInterval(this.#timer);
      tell({ on: "close", code, reason: reason.toString() });
    });
    this.#socket.on("message", (frame, binary) => this.#heard(frame, binary));
  }

  say(data) {
    this.text(JSON.stringify({ from: this.id, data }));
  }

  text(text) {
    this.#socket.send(text);
  }

  bytes(base64) {
    this.#socket.send(Buffer.from(base64, "base64"));
  }

  // A text frame of that many bytes.
  fill(size) {
    this.#socket.send("x".repeat(size));
  }

  // Shows itself from now on, at `transform`: {position, rotationY, meta?}. Again: moves there.
  present(transform) {
    this.#transform = transform;
    if (this.#timer === undefined) {
      this.#beat();
      this.#timer = setInterval(() => this.#beat(), BEAT_MS);
    }
  }

  // Hears these events from now on, and may emit them.
  listen(names) {
    this.#events = new Set(names);
  }

  emit({ event, payload }) {
    this.#tell({ on: "event", from: this.id, event, payload });
    if (this.#events.has(event)) this.say({ t: "event", event, payload });
  }

  // Predicts these inputs, [dx, dz, dtMs] each, and tells when the authority has answered all of them.
  drive(inputs) {
    this.#road.push(...inputs);
    this.#driving = true;
    this.#go();
  }

  // Says good-bye in order.
  leave() {
    this.say({ t: "bye" });
    this.#socket.close(1000);
  }

  // Is gone without a word.
  vanish() {
    this.#socket.terminate();
  }

  #heard(frame, binary) {
    if (binary) {
      this.#tell({ on: "bytes", base64: frame.toString("base64") });
      return;
    }
    const text = frame.toString();
    const envelope = open(text);
    if (envelope === undefined || envelope.from === this.id) {
      this.#tell({ on: "text", text: text.slice(0, 100), length: text.length });
      return;
    }
    const { from, data } = envelope;
    this.#tell({ on: "envelope", from, data, text });
    if (data?.t === "presence" && isPosition(data.position)) this.#show(from, data);
    if (data?.t === "bye") this.#drop(from);
    if (data?.t === "event" && this.#events.has(data.event)) {
      this.#tell({ on: "event", from, event: data.event, payload: data.payload });
    }
    if (data?.t === "state" && Number.isFinite(data.lastSeq) && isPlace(data.state)) {
      this.#prediction.acknowledge(data.state, data.lastSeq);
      this.#go();
    }
  }

  #go() {
    while (this.#road.length > 0 && this.#prediction.pending.length < UNDER_WAY) {
      const [dx, dz, dtMs] = this.#road.shift();
      this.say(this.#prediction.apply({ dx, dz }, dtMs));
    }
    if (this.#driving && this.#prediction.pending.length === 0) {
      this.#driving = false;
      this.#tell({ on: "arrived", corrections: this.#prediction.corrections, state: this.#prediction.state });
    }
  }

  #beat() {
    const now = performance.now();
    for (const [id, other] of this.#others) if (now - other.heard > STALE_MS) this.#drop(id);
    const { position, rotationY, meta } = this.#transform;
    const packet = { t: "presence", position, rotationY, meta };
    const text = JSON.stringify(packet);
    if (text !== this.#sent || this.#beats % KEEPALIVE_BEATS === 0) this.say(packet);
    this.#sent = text;
    this.#beats += 1;
  }

  #show(id, { position, rotationY, meta }) {
    const isNew = !this.#others.has(id);
    const other = { heard: performance.now(), position, rotationY: rotationY ?? 0, meta };
    this.#others.set(id, other);
    this.#tell({ on: isNew ? "joined" : "moved", id, position, rotationY: other.rotationY, meta });
  }

  #drop(id) {
    if (this.#others.delete(id)) this.#tell({ on: "left", id });
  }
}

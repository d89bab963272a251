// A player of the arena in binary, written from docs/protocol.md alone: greeting, commands, own avatar, resync.
// `node arena.mjs URL NAME COLOR`: what it sees goes to stdout, a line of JSON for everything that happens. A line on
// stdin lets it {"do": "drive"}, 60 commands a second from then on, or {"do": "damage", "at": n}, to flip a bit in byte n
// (from the end if negative) of the next frame that is not full and has private bytes. Ends with its stdin.

import { createHash, randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

import WebSocket from "ws";

import { Mirror } from "./mirror.mjs";

const PROTOCOL = 1;
const TICK_MS = 1000 / 60;
const SIDE = "fixed -64.0 to 64.0 by 0.00390625";
const HEIGHT = "fixed 0.0 to 16.0 by 0.00390625";
const COMPONENTS = [
  ["avatar", [["x", SIDE], ["y", HEIGHT], ["z", SIDE], ["yaw", "angle of 10 bits"], ["dashing", "bool"]]],
  ["link", [["rtt", "int 0 to 60000"]]],
  ["player", [["peer", "text of 64"], ["name", "text of 24"], ["color", "int 0 to 16777215"], ["away", "bool"]]],
];
const FINGERPRINT = createHash("sha256").update(JSON.stringify([PROTOCOL, COMPONENTS])).digest("hex").slice(0, 16);

const [url, name, color] = process.argv.slice(2);
const me = `js-${randomUUID()}`;
const mirror = new Mirror(COMPONENTS);
const socket = new WebSocket(url, { perMessageDeflate: false });
let seq = 0;
let damaging; // the byte of the next frame to be spoiled
let isWaiting = false; // for the full frame that was asked for

const isFull = (frame) => (frame[0] & 1) !== 0;

const hasPrivate = (frame) => (frame[0] & 4) !== 0;

const tell = (on, news = {}) => console.log(JSON.stringify({ on, ...news }));

const say = (data) => socket.send(JSON.stringify({ from: me, data }));

// One command, in whole numbers of the wire: directions in 1/127, yaw in 1/65536 turn.
function send({ dx, dz, yaw, jump, dash, fire, ticks }) {
  const bytes = new DataView(new ArrayBuffer(10));
  bytes.setUint8(0, 0x49);
  bytes.setUint32(1, (seq += 1), true);
  bytes.setInt8(5, dx);
  bytes.setInt8(6, dz);
  bytes.setUint16(7, yaw, true);
  bytes.setUint8(9, jump | (dash << 1) | (fire << 2) | ((ticks - 1) << 3));
  socket.send(bytes);
}

// In circles, with a jump and a dash now and then, for as many ticks as have passed.
function drive() {
  const began = performance.now();
  let ticks = 0;
  setInterval(() => {
    for (; ticks * TICK_MS < performance.now() - began; ticks += 1) {
      const angle = ticks / 20;
      const dx = Math.round(127 * Math.cos(angle)), dz = Math.round(127 * Math.sin(angle));
      send({ dx, dz, yaw: (ticks * 521) % 65536, jump: ticks % 40 < 5, dash: ticks % 70 === 69, fire: false, ticks: 1 });
    }
  }, TICK_MS / 4);
}

// Our own avatar, in the whole numbers that were simulated.
function avatarOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [x, z] = [0, 4].map((at) => view.getInt32(at, true));
  const [vx, vy, vz] = [10, 12, 14].map((at) => view.getInt16(at, true));
  const [dashTicks, cooldownTicks, held] = bytes.subarray(18, 21);
  const y = view.getUint16(8, true), yaw = view.getUint16(16, true);
  return { x, y, z, vx, vy, vz, yaw, dashTicks, cooldownTicks, jumpHeld: held === 1 };
}

function heard(frame) {
  if (damaging !== undefined && !isFull(frame) && hasPrivate(frame)) {
    frame[(damaging + frame.length) % frame.length] ^= 1;
    damaging = undefined;
  }
  const before = mirror.entities();
  const said = mirror.private;
  if (!mirror.take(frame)) {
    if (!isWaiting || isFull(frame)) {
      tell("resync", { fault: mirror.fault });
      say({ t: "resync" });
    }
    isWaiting = true;
    return;
  }
  isWaiting = false;
  const now = mirror.entities();
  for (const [id, entity] of before) if (!now.has(id)) tell("despawn", { id, ...entity });
  for (const [id, entity] of now) if (!before.has(id)) tell("spawn", { id, ...entity });
  tell("frame", {
    tick: mirror.tick,
    full: isFull(frame),
    acknowledged: mirror.acknowledged,
    connection: mirror.connection,
    own: mirror.private === said ? null : avatarOf(mirror.private),
    entities: [...now.values()],
  });
}

socket.on("open", () => {
  const schema = { protocol: PROTOCOL, fingerprint: FINGERPRINT, components: COMPONENTS };
  say({ t: "hello", protocol: PROTOCOL, name, color, schema });
});
socket.on("close", (code, reason) => tell("close", { code, reason: reason.toString() }));
socket.on("message", (frame, isBinary) => {
  if (isBinary) return heard(frame);
  const { data } = JSON.parse(frame);
  tell(data.t, data);
});

for await (const line of createInterface({ input: process.stdin })) {
  const { do: verb, at } = JSON.parse(line);
  if (verb === "drive") drive();
  if (verb === "damage") damaging = at;
}
process.exit(0);

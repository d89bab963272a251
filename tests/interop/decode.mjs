// Mirrors that are fed by lines on stdin: {"mirror": name, "components": […]} makes one, {"mirror": name, "frame": base64}
// lets it take a frame, after which a line on stdout says what it holds. Ends with its stdin.

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

import { Mirror } from "./mirror.mjs";

const mirrors = new Map();

for await (const line of createInterface({ input: process.stdin })) {
  const { mirror: name, components, frame } = JSON.parse(line);
  if (components) {
    mirrors.set(name, new Mirror(components));
    const hash = createHash("sha256").update(JSON.stringify([1, components])).digest("hex");
    console.log(JSON.stringify({ fingerprint: hash.slice(0, 16) }));
    continue;
  }
  const mirror = mirrors.get(name);
  const isTaken = mirror.take(Buffer.from(frame, "base64"));
  const { fault, tick, acknowledged, connection } = mirror;
  const own = mirror.private?.toString("base64") ?? "";
  const entities = [...mirror.entities()];
  console.log(JSON.stringify({ isTaken, fault, tick, acknowledged, connection, own, entities }));
}

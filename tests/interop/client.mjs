// Peers that are told what to do by lines on stdin, {"peer": id, "do": verb, "with": argument}, and tell what happens
// to them by lines on stdout, {"peer": id, "on": what, …}: "done" when they have done it. Ends with its stdin.

import { createInterface } from "node:readline";

import { Peer } from "./peer.mjs";

const peers = new Map();

const write = (peer, news) => console.log(JSON.stringify({ peer, ...news }));

for await (const line of createInterface({ input: process.stdin })) {
  const { peer: id, do: verb, with: argument } = JSON.parse(line);
  if (verb === "open") peers.set(id, new Peer(id, argument, (news) => write(id, news)));
  else peers.get(id)[verb](argument);
  write(id, { on: "done" });
}
process.exit(0);

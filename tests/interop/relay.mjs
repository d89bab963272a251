// A relay of the wire protocol on `ws`: rooms by path, everything to everyone else, nothing read.
// Prints {"port": n} when it listens. Ends with its stdin, or on SIGTERM and SIGINT, closing everyone with 1001.

import { WebSocketServer } from "ws";

const LONGEST_FRAME = 64 * 1024;
const HEARTBEAT_MS = Number(process.argv[2] ?? 30_000);

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, maxPayload: LONGEST_FRAME });
const rooms = new Map();

server.on("listening", () => console.log(JSON.stringify({ port: server.address().port })));
server.on("connection", (socket, request) => {
  const room = new URL(request.url, "ws://relay").pathname;
  const mates = rooms.get(room) ?? new Set();
  rooms.set(room, mates.add(socket));
  socket.answered = true;
  socket.on("pong", () => (socket.answered = true));
  socket.on("error", () => {}); // a frame that is too long: `ws` closes its sender with 1009
  socket.on("message", (frame, binary) => {
    for (const mate of mates) {
      if (mate !== socket && mate.readyState === mate.OPEN) mate.send(frame, { binary });
    }
  });
  socket.on("close", () => {
    mates.delete(socket);
    if (mates.size === 0) rooms.delete(room);
  });
});

const heartbeat = setInterval(() => {
  for (const socket of server.clients) {
    if (!socket.answered) socket.terminate();
    socket.answered = false;
    socket.ping();
  }
}, HEARTBEAT_MS);

function stop() {
  clearInterval(heartbeat);
  for (const socket of server.clients) socket.close(1001, "the relay is going away");
  server.close(() => process.exit(0));
  setTimeout(() => process.exit(0), 1500).unref();
}

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
process.stdin.once("end", stop).resume();

// The yardstick: the shortest honest relay on Node's `ws`, without compression. Tells its port, ends with stdin.
import { WebSocket, WebSocketServer } from "ws";

const rooms = new Map();
const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false, maxPayload: 65536 });

server.on("listening", () => console.log(JSON.stringify({ event: "listening", port: server.address().port })));
server.on("connection", (socket, request) => {
  const path = request.url;
  if (!rooms.has(path)) rooms.set(path, new Set());
  const room = rooms.get(path);
  room.add(socket);
  socket.on("message", (data, binary) => {
    for (const peer of room) {
      if (peer !== socket && peer.readyState === WebSocket.OPEN) peer.send(data, { binary });
    }
  });
  socket.on("close", () => room.delete(socket));
});
process.stdin.on("end", () => process.exit(0)).resume();

"""Two dots that see each other over a relay, without an authority: start it twice. Arrows move, closing leaves."""

import argparse

import pygame

from net.clock import MonotonicClock
from net.presence import JOINED, LocalPresence, PresenceSync
from net.sync.smoothing import smooth
from net.transport.websocket import WebSocketTransport

WIDTH, HEIGHT, SPEED, HALF_LIFE = 800, 500, 260.0, 0.06  # pixels, pixels a second, seconds
ARROWS = {pygame.K_LEFT: (-1, 0), pygame.K_RIGHT: (1, 0), pygame.K_UP: (0, -1), pygame.K_DOWN: (0, 1)}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--relay", default="ws://127.0.0.1:8787/dots", help="the path is the room")
parser.add_argument("--name", default="me")
parser.add_argument("--frames", type=int, default=-1, help="end after that many in company, and say who was there")
options = parser.parse_args()

pygame.init()
screen = pygame.display.set_mode((WIDTH, HEIGHT))
font, ticks = pygame.Font(None, 24), pygame.time.Clock()
me = pygame.Vector2(WIDTH / 2, HEIGHT / 2)
shown: dict[str, pygame.Vector2] = {}
seen: list[str] = []

transport = WebSocketTransport(options.relay)
presence = PresenceSync(
    transport, lambda: LocalPresence((me.x, 0, me.y), meta={"name": options.name}), MonotonicClock()
)
presence.bus.on(JOINED, lambda peer: seen.append(str((peer.meta or {}).get("name"))))
presence.start()


def draw(place: pygame.Vector2, name: object, color: str) -> None:
    pygame.draw.circle(screen, color, place, 14)
    screen.blit(font.render(str(name)[:20].replace("\0", ""), True, "white"), (place.x + 18, place.y - 8))


while options.frames and not pygame.event.get(pygame.QUIT):
    seconds, keys = ticks.tick(60) / 1000, pygame.key.get_pressed()
    for key, way in ARROWS.items():
        me += pygame.Vector2(way) * (SPEED * seconds * keys[key])
    transport.poll()
    presence.update()
    screen.fill("#10131a")
    draw(me, options.name, "#22d3ee")
    for peer in presence.peers():
        x, z = pygame.math.clamp(peer.position[0], 0, WIDTH), pygame.math.clamp(peer.position[2], 0, HEIGHT)
        at = shown.get(peer.peer_id, pygame.Vector2(x, z))  # whoever is new is placed where it is
        shown[peer.peer_id] = pygame.Vector2(smooth(at.x, x, HALF_LIFE, seconds), smooth(at.y, z, HALF_LIFE, seconds))
        draw(shown[peer.peer_id], (peer.meta or {}).get("name"), "#f43f7f")
    shown = {peer_id: shown[peer_id] for peer_id in presence.store.get()}
    pygame.display.flip()
    options.frames -= bool(seen)
presence.stop()
transport.close()
print(options.name, "saw", *seen)

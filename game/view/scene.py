"""Paints the match: ground, light and shadow, then everything that stands up, the farthest first, then names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

import pygame

from game.session.base import AvatarFrame, Frame
from game.sim.arena import Arena
from game.view import shapes
from game.view.cache import Cache
from game.view.camera import RISE, Camera
from game.view.capsule import TOP, Capsules, direction_index
from game.view.floor import paint_floor
from game.view.marks import Marks
from game.view.shapes import Rgb
from game.view.text import Lettering
from game.view.theme import AMBER, FAINT, INK, NIGHT, Face, Theme
from game.view.trails import Trails
from game.view.walls import build_walls

CHEST: Final = 0.9
"""units above the feet: where the mouse aims"""
NAME_WIDTH: Final = 150
"""designed pixels that a name may take"""

_AIRBORNE: Final = 0.12
_ECHO_TIME: Final = 0.22
"""seconds that an afterimage lasts"""
_ECHO_GAP: Final = 0.025
_TELEPORT: Final = 4.0
"""units in one frame from which on no trail is drawn"""

Blit = tuple[pygame.Surface, tuple[int, int]]


@dataclass(slots=True)
class _Memory:
    """What is kept about one avatar from frame to frame: where it was, and its label."""

    x: float
    y: float
    z: float
    seen: int = 0
    echoes: list[tuple[float, float, float, float]] = field(default_factory=list)
    """(age in seconds, x, y, z) of afterimages, oldest first"""
    named: tuple[str, bool] | None = None
    label: pygame.Surface | None = None


class Scene:
    """All art of the arena at one size, and how a Frame becomes a picture."""

    def __init__(self, arena: Arena, theme: Theme, lettering: Lettering) -> None:
        self._theme = theme
        self._lettering = lettering
        self.camera = Camera(arena, theme)
        px = self.camera.px
        self._floor = paint_floor(arena, self.camera)
        self._walls = build_walls(arena, px)
        self.capsules = Capsules(px)
        self._marks = Marks(px)
        self._trails = Trails(theme, px)
        self._memories: dict[str, _Memory] = {}
        self._count = 0
        self._name_gap = round(TOP * px) + theme.px(2)
        self._away_mark = lettering.render("zZ", Face.TITLE, 15, AMBER, outline=True)
        self._bubbles: Cache[str, pygame.Surface] = Cache(16, self._bubble)
        self._light: list[Blit] = []
        self._shade: list[Blit] = []
        self._standing: list[tuple[float, pygame.Surface, tuple[int, int]]] = []
        self._names: list[tuple[float, pygame.Surface, tuple[int, int]]] = []

    def draw(self, target: pygame.Surface, frame: Frame, dt: float, truth: bool) -> pygame.Rect | None:
        """Paint `frame`; with `truth`, the authority's newest word as outlines. Returns where the own avatar is."""
        me = frame.me
        if me is not None:
            self.camera.follow(me.x, me.z, dt)
        else:
            self.camera.rest(dt)
        left, top = self.camera.left, self.camera.top
        width, height = self.camera.ground
        target.blit(self._floor, (-left - width // 2, -top - height // 2))
        self._draw_trails(target, frame.avatars, dt)
        self._collect(frame.avatars)
        target.fblits(self._shade)
        target.fblits(self._light, pygame.BLEND_RGB_ADD)
        if me is not None:
            self._draw_own_marks(target, me)
        self._draw_air_lines(target, frame.avatars)
        target.fblits([item[1:] for item in self._standing])
        if me is not None:
            self._reveal(target, me)
        if truth:
            self._draw_truth(target, frame.avatars)
        target.fblits([item[1:] for item in self._names])
        if me is None:
            return None
        # with its name and its ring
        return self._body_rect(me).inflate(round(0.8 * self.camera.px), round(1.2 * self.camera.px))

    def _body_rect(self, avatar: AvatarFrame) -> pygame.Rect:
        x, y = self.camera.project(avatar.x, avatar.y, avatar.z)
        anchor = self.capsules.anchor
        return pygame.Rect((round(x) - anchor[0], round(y) - anchor[1]), self.capsules.size)

    def _draw_trails(self, target: pygame.Surface, avatars: Sequence[AvatarFrame], dt: float) -> None:
        left, top = self.camera.left, self.camera.top
        trails = self._trails
        trails.begin(left, top, dt)
        self._count += 1
        for avatar in avatars:
            past = self._memories.get(avatar.peer_id)
            if past is None:
                past = self._memories[avatar.peer_id] = _Memory(avatar.x, avatar.y, avatar.z)
            past.seen = self._count
            moved = abs(avatar.x - past.x) + abs(avatar.z - past.z)
            if 0.004 < moved < _TELEPORT and not avatar.away:
                start = self.camera.project(past.x, past.y + 0.25, past.z)
                end = self.camera.project(avatar.x, avatar.y + 0.25, avatar.z)
                trails.add(
                    (start[0] + left, start[1] + top), (end[0] + left, end[1] + top), avatar.color, avatar.dashing
                )
            self._age_echoes(past, avatar, dt)
            past.x, past.y, past.z = avatar.x, avatar.y, avatar.z
        if len(self._memories) > len(avatars):
            self._memories = {peer: past for peer, past in self._memories.items() if past.seen == self._count}
        trails.draw(target, left, top)

    @staticmethod
    def _age_echoes(past: _Memory, avatar: AvatarFrame, dt: float) -> None:
        if past.echoes:
            past.echoes = [(age + dt, x, y, z) for age, x, y, z in past.echoes if age + dt < _ECHO_TIME]
        if avatar.dashing and (not past.echoes or past.echoes[-1][0] >= _ECHO_GAP):
            past.echoes.append((0.0, past.x, past.y, past.z))

    def _collect(self, avatars: Sequence[AvatarFrame]) -> None:
        """Fill the lists of blits: buffers that live on, so that a frame allocates little."""
        camera, capsules, marks = self.camera, self.capsules, self._marks
        memories = self._memories
        light, shade, standing, names = self._light, self._shade, self._standing, self._names
        for buffer in (light, shade, standing, names):
            buffer.clear()
        view = (self._theme.width, self._theme.height)
        for wall in self._walls:
            standing.append((wall.z, wall.sprite, (wall.left - camera.left, wall.top - camera.top)))
        reach = round(2 * camera.px)
        # the light comes from the upper left
        lean = round(0.07 * camera.px)
        anchor_x, anchor_y = capsules.anchor
        for avatar in avatars:
            x, ground = camera.project(avatar.x, 0.0, avatar.z)
            x, ground = round(x), round(ground)
            y = ground - round(avatar.y * RISE * camera.px)
            if not (-reach < x < view[0] + reach and -reach < ground and y < view[1] + reach):
                continue
            color = avatar.color
            if not avatar.away:
                light.append(_centred(marks.glow(color), x, ground))
            shade.append(_centred(marks.shadow(avatar.y), x + lean, ground + lean))
            sprite = capsules.sprite(color, direction_index(avatar.yaw), avatar.away)
            standing.append((avatar.z, sprite, (x - anchor_x, y - anchor_y)))
            memory = memories[avatar.peer_id]
            self._name(avatar, memory, x, y)
            if memory.echoes:
                self._collect_echoes(avatar)
        standing.sort(key=itemgetter(0))
        names.sort(key=itemgetter(0))

    def _collect_echoes(self, avatar: AvatarFrame) -> None:
        images = self.capsules.echoes(avatar.color)
        anchor_x, anchor_y = self.capsules.anchor
        for age, x, y, z in self._memories[avatar.peer_id].echoes:
            image = images[min(len(images) - 1, int((1 - age / _ECHO_TIME) * len(images)))]
            px, py = self.camera.project(x, y, z)
            self._standing.append((min(z, avatar.z) - 0.01, image, (round(px) - anchor_x, round(py) - anchor_y)))

    def _name(self, avatar: AvatarFrame, memory: _Memory, x: int, y: int) -> None:
        label = memory.label
        if label is None or memory.named != (avatar.name, avatar.away):
            color: Rgb = FAINT if avatar.away else INK
            width = self._theme.px(NAME_WIDTH)
            label = self._lettering.render(avatar.name, Face.NAME, 15, color, outline=True, max_width=width)
            memory.label, memory.named = label, (avatar.name, avatar.away)
        bottom = y - self._name_gap
        # nobody's name may cover the own one
        near = math.inf if avatar.me else avatar.z
        self._names.append((near, label, (x - label.get_width() // 2, bottom - label.get_height())))
        if avatar.emote:
            bubble = self._bubbles.get(avatar.emote)
            corner = x - bubble.get_width() // 2, bottom - label.get_height() - bubble.get_height()
            self._names.append((near, bubble, corner))
        if avatar.away:
            self._names.append((near, self._away_mark, (x + self.capsules.anchor[0] // 2, bottom - self._theme.px(2))))

    def _bubble(self, text: str) -> pygame.Surface:
        """A speech bubble with its tip below."""
        theme = self._theme
        words = self._lettering.render(text, Face.NAME, 16, NIGHT)
        pad, tip = theme.px(9), theme.px(7)
        width, height = words.get_width() + 2 * pad, words.get_height() + pad
        bubble = pygame.Surface((width, height + tip), pygame.SRCALPHA)
        pygame.draw.rect(bubble, INK, (0, 0, width, height), border_radius=theme.px(10))
        middle = width // 2
        pygame.draw.polygon(
            bubble, INK, [(middle - tip, height - 1), (middle + tip, height - 1), (middle, height + tip)]
        )
        bubble.blit(words, (pad, pad // 2))
        return bubble

    def _draw_own_marks(self, target: pygame.Surface, me: AvatarFrame) -> None:
        x, y = self.camera.project(me.x, 0.0, me.z)
        spot = round(x), round(y)
        target.blit(*_centred(self._marks.ring(me.color), *spot))
        arrow = _centred(self._marks.arrow(me.color, direction_index(me.yaw)), *spot)
        target.blit(*arrow, special_flags=pygame.BLEND_RGB_ADD)

    def _draw_air_lines(self, target: pygame.Surface, avatars: Sequence[AvatarFrame]) -> None:
        """A plumb line from each jumping avatar to the spot that it is above."""
        for avatar in avatars:
            if avatar.y > _AIRBORNE:
                x, ground = self.camera.project(avatar.x, 0.0, avatar.z)
                feet = ground - avatar.y * RISE * self.camera.px
                color = shapes.mix(shapes.rgb(avatar.color), (255, 255, 255), 0.3)
                pygame.draw.line(target, color, (round(x), round(feet)), (round(x), round(ground)), self._theme.px(1))

    def _reveal(self, target: pygame.Surface, me: AvatarFrame) -> None:
        """The own avatar's outline where a wall hides it."""
        body = self._body_rect(me)
        for wall in self._walls:
            if me.z < wall.back:
                cover = wall.sprite.get_rect(topleft=(wall.left - self.camera.left, wall.top - self.camera.top))
                seen = cover.clip(body)
                if seen.width and seen.height:
                    outline = self.capsules.outline(me.color)
                    target.blit(outline, seen, seen.move(-body.x, -body.y))

    def _draw_truth(self, target: pygame.Surface, avatars: Sequence[AvatarFrame]) -> None:
        outline = self.capsules.outline("#ffffff")
        anchor_x, anchor_y = self.capsules.anchor
        for avatar in avatars:
            if avatar.truth is not None:
                x, y, z, _ = avatar.truth
                px, py = self.camera.project(x, y, z)
                target.blit(outline, (round(px) - anchor_x, round(py) - anchor_y))


def _centred(sprite: pygame.Surface, x: int, y: int) -> Blit:
    width, height = sprite.get_size()
    return sprite, (x - width // 2, y - height // 2)

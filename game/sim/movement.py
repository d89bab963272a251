"""Movement: the part of the rules that a client replays. Integers in, integers out, no other state."""

from __future__ import annotations

from math import isqrt
from typing import Final

from game.sim.arena import Arena
from game.sim.command import Command
from game.sim.constants import (
    AIR_ACCELERATION,
    AIR_FRICTION,
    DASH_COOLDOWN,
    DASH_SPEED,
    DASH_TICKS,
    DIRECTION,
    GRAVITY,
    GROUND_ACCELERATION,
    GROUND_FRICTION,
    JUMP_SPEED,
    RUN_SPEED,
)
from game.sim.floor import CELL
from game.sim.grid import cosine, sine
from game.sim.state import Avatar


def move_avatar(avatar: Avatar, command: Command, arena: Arena) -> Avatar:
    """The avatar after the command's ticks. Avatars pass through each other, so no other avatar matters."""
    if command.ticks == 1:  # nearly all, and setting up a loop is a sixth of the work
        return move_tick(avatar, command, arena)
    for _ in range(command.ticks):
        avatar = move_tick(avatar, command, arena)
    return avatar


def move_tick(avatar: Avatar, command: Command, arena: Arena) -> Avatar:
    """The avatar after one tick of the command, however long that lasts. Its push lies on the grid, -127 to 127."""
    y, vx, vy, vz = avatar.y, avatar.vx, avatar.vy, avatar.vz
    grounded = y == 0 and vy == 0
    dash_ticks = avatar.dash_ticks
    cooldown = avatar.cooldown - 1 if avatar.cooldown > 0 else 0

    if command.dash and cooldown == 0 and dash_ticks == 0:
        dash_ticks, cooldown = DASH_TICKS, DASH_COOLDOWN
        vx, vz = dash_velocity(command)
    dashing = dash_ticks > 0
    if not dashing:
        dx, dz = command.dx, command.dz
        wish_x, wish_z = _WISH[dx], _WISH[dz]
        if vx != wish_x or vz != wish_z:
            if dx or dz:
                rate = GROUND_ACCELERATION if grounded else AIR_ACCELERATION
            else:
                rate = GROUND_FRICTION if grounded else AIR_FRICTION
            vx, vz = _approach(vx, vz, wish_x, wish_z, rate)

    jump = command.jump
    if grounded and jump and not avatar.jump_held:
        vy = JUMP_SPEED
        grounded = False
    if not grounded:
        y += vy
        vy -= GRAVITY
        if y <= 0:
            y = vy = 0

    x, z, vx, vz = slide(avatar.x, avatar.z, vx, vz, arena)
    if dashing:
        dash_ticks -= 1
        if dash_ticks == 0:
            vx, vz = shorten(vx, vz, RUN_SPEED)
    return Avatar(x, y, z, vx, vy, vz, command.yaw, dash_ticks, cooldown, jump)


def dash_velocity(command: Command) -> tuple[int, int]:
    """Where the player pushes, at full speed; where the avatar looks if nothing is pushed."""
    if command.dx or command.dz:
        length = isqrt(command.dx * command.dx + command.dz * command.dz) or 1
        return _towards_zero(command.dx * DASH_SPEED, length), _towards_zero(command.dz * DASH_SPEED, length)
    return (
        _towards_zero(cosine(command.yaw) * DASH_SPEED, 32767),
        _towards_zero(sine(command.yaw) * DASH_SPEED, 32767),
    )


def _approach(vx: int, vz: int, wish_x: int, wish_z: int, rate: int) -> tuple[int, int]:
    """Change the velocity towards the wished one by at most `rate`, in a straight line."""
    gap_x, gap_z = wish_x - vx, wish_z - vz
    square = gap_x * gap_x + gap_z * gap_z
    if square <= rate * rate:
        return wish_x, wish_z
    length = isqrt(square) + 1
    step_x = gap_x * rate // length if gap_x >= 0 else -(-gap_x * rate // length)  # towards zero, as below
    step_z = gap_z * rate // length if gap_z >= 0 else -(-gap_z * rate // length)
    if step_x or step_z:
        return vx + step_x, vz + step_z
    if abs(gap_x) >= abs(gap_z):  # the shortest step that there is, so that a small rate still arrives
        return vx + (1 if gap_x > 0 else -1), vz
    return vx, vz + (1 if gap_z > 0 else -1)


def shorten(vx: int, vz: int, limit: int) -> tuple[int, int]:
    """The velocity with a length of at most `limit`, rounded down."""
    length = isqrt(vx * vx + vz * vz)
    if length <= limit:
        return vx, vz
    return _towards_zero(vx * limit, length), _towards_zero(vz * limit, length)


def _towards_zero(a: int, b: int) -> int:
    """a / b with b > 0, rounded towards zero, so that left and right behave alike."""
    return a // b if a >= 0 else -(-a // b)


_WISH: Final = tuple(_towards_zero(d * RUN_SPEED, DIRECTION) for d in (*range(DIRECTION + 1), *range(-DIRECTION, 0)))
"""by push: the speed that it wishes for. Pushes below 0 are at the end, where Python looks for them."""


def slide(x: int, z: int, vx: int, vz: int, arena: Arena) -> tuple[int, int, int, int]:
    """Move one axis after the other, and stop only the axis that meets a wall: the rest slides along it.

    Walls are blocks grown by the avatar's radius, so that the avatar is a point. The fastest step (341) is shorter than
    the thinnest wall, so nothing tunnels. The border holds whatever else happens.
    """
    floor = arena.floor
    width, depth = floor.half_width, floor.half_depth
    to_x, to_z = x + vx, z + vz
    if -width <= to_x <= width and -depth <= z <= depth and -depth <= to_z <= depth:
        column = floor.columns[to_x >> CELL]
        if not (column[z >> CELL] or column[to_z >> CELL]):  # no wall at either place that is looked at below
            return to_x, to_z, vx, vz

    for left, top, right, bottom in floor.near(to_x, z):
        if top < z < bottom and left < to_x < right:
            to_x, vx = left if x <= left else right, 0
    if not -width <= to_x <= width:
        to_x, vx = max(-width, min(width, to_x)), 0

    for left, top, right, bottom in floor.near(to_x, to_z):
        if left < to_x < right and top < to_z < bottom:
            to_z, vz = top if z <= top else bottom, 0
    if not -depth <= to_z <= depth:
        to_z, vz = max(-depth, min(depth, to_z)), 0
    return to_x, to_z, vx, vz

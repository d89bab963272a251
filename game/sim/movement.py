"""Movement: the part of the rules that a client replays. Integers in, integers out, no other state."""

from __future__ import annotations

import math

from game.sim.arena import Arena
from game.sim.command import Command
from game.sim.constants import (
    AIR_ACCELERATION,
    AIR_FRICTION,
    AVATAR_RADIUS,
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
from game.sim.grid import cosine, sine
from game.sim.state import Avatar


def move_avatar(avatar: Avatar, command: Command, arena: Arena) -> Avatar:
    """The avatar after the command's ticks. Avatars pass through each other, so no other avatar matters."""
    for _ in range(command.ticks):
        avatar = move_tick(avatar, command, arena)
    return avatar


def move_tick(avatar: Avatar, command: Command, arena: Arena) -> Avatar:
    """The avatar after one tick of the command, however long that lasts."""
    vx, vy, vz = avatar.vx, avatar.vy, avatar.vz
    grounded = avatar.y == 0 and vy == 0
    dash_ticks = avatar.dash_ticks
    cooldown = max(0, avatar.cooldown - 1)

    if command.dash and cooldown == 0 and dash_ticks == 0:
        dash_ticks, cooldown = DASH_TICKS, DASH_COOLDOWN
        vx, vz = dash_velocity(command)
    dashing = dash_ticks > 0
    if not dashing:
        acceleration, friction = (
            (GROUND_ACCELERATION, GROUND_FRICTION) if grounded else (AIR_ACCELERATION, AIR_FRICTION)
        )
        wish_x = _towards_zero(command.dx * RUN_SPEED, DIRECTION)
        wish_z = _towards_zero(command.dz * RUN_SPEED, DIRECTION)
        rate = acceleration if command.dx or command.dz else friction
        vx, vz = _approach(vx, vz, wish_x, wish_z, rate)

    if grounded and command.jump and not avatar.jump_held:
        vy = JUMP_SPEED
        grounded = False
    y = avatar.y
    if not grounded:
        y += vy
        vy -= GRAVITY
        if y <= 0:
            y, vy = 0, 0

    x, z, vx, vz = slide(avatar.x, avatar.z, vx, vz, arena)
    if dashing:
        dash_ticks -= 1
        if dash_ticks == 0:
            vx, vz = shorten(vx, vz, RUN_SPEED)
    return Avatar(x, y, z, vx, vy, vz, command.yaw, dash_ticks, cooldown, command.jump)


def dash_velocity(command: Command) -> tuple[int, int]:
    """Where the player pushes, at full speed; where the avatar looks if nothing is pushed."""
    if command.dx or command.dz:
        length = math.isqrt(command.dx * command.dx + command.dz * command.dz) or 1
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
    length = math.isqrt(square) + 1
    step_x, step_z = _towards_zero(gap_x * rate, length), _towards_zero(gap_z * rate, length)
    if step_x == 0 and step_z == 0:  # the shortest step that there is, so that a small rate still arrives
        if abs(gap_x) >= abs(gap_z):
            step_x = 1 if gap_x > 0 else -1
        else:
            step_z = 1 if gap_z > 0 else -1
    return vx + step_x, vz + step_z


def shorten(vx: int, vz: int, limit: int) -> tuple[int, int]:
    """The velocity with a length of at most `limit`, rounded down."""
    length = math.isqrt(vx * vx + vz * vz)
    if length <= limit:
        return vx, vz
    return _towards_zero(vx * limit, length), _towards_zero(vz * limit, length)


def _towards_zero(a: int, b: int) -> int:
    """a / b with b > 0, rounded towards zero, so that left and right behave alike."""
    return a // b if a >= 0 else -(-a // b)


def slide(x: int, z: int, vx: int, vz: int, arena: Arena) -> tuple[int, int, int, int]:
    """Move one axis after the other, and stop only the axis that meets a wall: the rest slides along it.

    Blocks grow by the avatar's radius, so that the avatar is a point. The fastest step (341) is shorter than the
    thinnest grown block, so nothing tunnels. The border holds whatever else happens.
    """
    radius = AVATAR_RADIUS
    to_x = x + vx
    for block in arena.blocks:
        if block.top - radius < z < block.bottom + radius and block.left - radius < to_x < block.right + radius:
            to_x = block.left - radius if x <= block.left - radius else block.right + radius
            vx = 0
    limit = arena.half_width - radius
    if not -limit <= to_x <= limit:
        to_x, vx = max(-limit, min(limit, to_x)), 0

    to_z = z + vz
    for block in arena.blocks:
        if block.left - radius < to_x < block.right + radius and block.top - radius < to_z < block.bottom + radius:
            to_z = block.top - radius if z <= block.top - radius else block.bottom + radius
            vz = 0
    limit = arena.half_depth - radius
    if not -limit <= to_z <= limit:
        to_z, vz = max(-limit, min(limit, to_z)), 0
    return to_x, to_z, vx, vz

// Client-side prediction of the protocol's reference movement: a plain object {x, z}, inputs {dx, dz}.

const SPEED = 5; // units a second
const EDGE = 50; // units from the middle, each way

const clamp = (value, limit) => Math.max(-limit, Math.min(limit, value));

export function step(state, { dx, dz }, dtMs) {
  dx = clamp(dx, 1);
  dz = clamp(dz, 1);
  const length = Math.sqrt(dx * dx + dz * dz);
  if (length > 1) {
    dx /= length;
    dz /= length;
  }
  const seconds = clamp(dtMs, 100) / 1000;
  return { x: clamp(state.x + dx * SPEED * seconds, EDGE), z: clamp(state.z + dz * SPEED * seconds, EDGE) };
}

export class Prediction {
  state = { x: 0, z: 0 };
  pending = [];
  corrections = 0;
  #seq = 0;
  #acknowledged = 0;

  // Applies an input at once, and gives what goes to the authority.
  apply(input, dtMs) {
    this.state = step(this.state, input, dtMs);
    this.pending.push({ seq: ++this.#seq, input, dtMs });
    return { t: "input", seq: this.#seq, input, dtMs };
  }

  // Takes the authority's answer: back to its state, then forward again through what it has not seen yet.
  acknowledge(state, lastSeq) {
    if (lastSeq <= this.#acknowledged) return;
    this.#acknowledged = lastSeq;
    this.pending = this.pending.filter((command) => command.seq > lastSeq);
    let replayed = { x: state.x, z: state.z };
    for (const { input, dtMs } of this.pending) replayed = step(replayed, input, dtMs);
    if (replayed.x !== this.state.x || replayed.z !== this.state.z) this.corrections += 1;
    this.state = replayed;
  }
}

/**
 * Rendezvous hashing: each pair of member and item has a score, and the member with the highest score owns the item.
 * Scores depend on names only, so replicas that know the same members agree without communication.
 *
 * When a member leaves, only its items move; when one joins, only those that it wins. And two members that know each
 * other never both win an item, whichever others either of them knows: sharding relies on that.
 *
 * Replicas of different releases must compute the same scores: the hash is as fixed as a wire format.
 */

export interface Contender {
  readonly name: string
  /** Twice the weight, twice the items. @default 1 */
  readonly weight?: number | undefined
}

/** The owner of each item; empty when there are no members. */
export function owners(items: Iterable<string>, members: readonly Contender[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const item of items) {
    const winner = winnerOf(item, members)
    if (winner) found.set(item, winner.name)
  }
  return found
}

export function winnerOf<M extends Contender>(item: string, members: Iterable<M>): M | undefined {
  let winner: M | undefined
  for (const member of members) if (!winner || beats(member, winner, item)) winner = member
  return winner
}

/** Whether `one` has the higher score. Ties go to the lesser name. */
export function beats(one: Contender, other: Contender, item: string): boolean {
  const difference = lot(item, one) - lot(item, other)
  return difference === 0 ? one.name < other.name : difference > 0
}

/** The logarithm makes a share proportional to its weight, and leaves the ratios of all other shares unchanged. */
function lot(item: string, { name, weight = 1 }: Contender): number {
  return Math.log((hash(`${name}\n${item}`) + 0.5) / 2 ** 53) / weight
}

/** 53 bits of a text: two multiplicative hashes side by side, each mixed into the other at the end. */
export function hash(text: string): number {
  let [left, right] = [0xdeadbeef, 0x41c6ce57]
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    left = Math.imul(left ^ unit, 0x9e3779b1)
    right = Math.imul(right ^ unit, 0x5f356495)
  }
  left = Math.imul(left ^ (left >>> 16), 0x85ebca6b) ^ Math.imul(right ^ (right >>> 13), 0xc2b2ae35)
  right = Math.imul(right ^ (right >>> 16), 0x85ebca6b) ^ Math.imul(left ^ (left >>> 13), 0xc2b2ae35)
  return 2 ** 32 * (right & 0x1fffff) + (left >>> 0)
}

/**
 * Rendezvous hashing: every member draws a lot for every item, and the highest lot owns it. The lots depend on nothing
 * but the names, so all who know the same members agree without a word.
 *
 * When a member leaves, only its items move; when one comes, only those that it wins. And two members who know each
 * other never both win an item, whoever else either of them knows: that is what sharding rests on.
 *
 * Replicas of different releases must draw the same lots: the numbers are as fixed as a wire format.
 */

export interface Contender {
  readonly name: string
  /** Twice the weight, twice the items. @default 1 */
  readonly weight?: number | undefined
}

/** The owner of each item; of none when there are no members. */
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

/** Whether `one` draws the higher lot. Of two equal lots, the lesser name has it. */
export function beats(one: Contender, other: Contender, item: string): boolean {
  const difference = lot(item, one) - lot(item, other)
  return difference === 0 ? one.name < other.name : difference > 0
}

/** The logarithm makes a share proportional to its weight, and leaves all other shares among themselves as they are. */
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

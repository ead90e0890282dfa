/** A kind as it comes from a client: types are right, but whatever a schema calls required may be missing. */
export type SentObject<T> = T extends readonly (infer Item)[]
  ? readonly SentObject<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { readonly [Member in keyof T]?: SentObject<T[Member]> }
    : T

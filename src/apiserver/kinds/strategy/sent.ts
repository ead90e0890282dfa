/** A kind as sent by a client: types are right, but fields that the schema requires may be missing. */
export type SentObject<T> = T extends readonly (infer Item)[]
  ? readonly SentObject<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { readonly [Member in keyof T]?: SentObject<T[Member]> }
    : T

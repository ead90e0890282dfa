/** A guest as the manager sees it: a thread or process, with its messages and its end. */

/** A message channel and a lifetime. */
export interface Guest {
  send(text: string): void
  /** `ended` resolves shortly after. */
  kill(): void
  /** Why it ended; never rejects. */
  readonly ended: Promise<string>
  /** Bytes that it holds outside of its heap, if known. */
  buffers?(): Promise<number>
}

export interface GuestEvents {
  readonly onText: (text: string) => void
  /** Answers synchronously: the guest is blocked. */
  readonly onRead: (text: string) => string
  readonly onTooLong: (size: number) => void
  /** Whole lines, masked. */
  readonly onPrinted: (text: string) => void
  /** Values to be masked in the guest's output, before it is split or cut. */
  readonly secrets: PrintedSecrets
}

export interface PrintedSecrets {
  hide(text: string): string
  /** Values of several lines, which may be printed in several chunks. */
  ofSeveralLines(): readonly string[]
}

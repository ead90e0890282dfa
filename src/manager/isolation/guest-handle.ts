/** A guest as the manager holds it: a thread or a process, what is said to it and by it, and its end. */

/** A text channel and a life. */
export interface Guest {
  send(text: string): void
  /** It is gone shortly after: `ended` says so. */
  kill(): void
  /** Why it ended; never rejects. */
  readonly ended: Promise<string>
  /** Bytes that it holds beside its heap, where that can be asked. */
  buffers?(): Promise<number>
}

export interface GuestEvents {
  readonly onText: (text: string) => void
  /** Answers at once: the guest stands still. */
  readonly onRead: (text: string) => string
  readonly onTooLong: (size: number) => void
  /** Whole lines, masked. */
  readonly onPrinted: (text: string) => void
  /** What the guest prints is masked by these before it is divided or cut. */
  readonly secrets: PrintedSecrets
}

export interface PrintedSecrets {
  hide(text: string): string
  /** Values of several lines, which may be printed in several pieces. */
  ofSeveralLines(): readonly string[]
}

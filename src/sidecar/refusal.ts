/** The errors of the protocol with their HTTP status: one table for server, client and documentation. */

export const refusals = {
  BadRequest: 400,
  UnknownAction: 400,
  Unauthorized: 401,
  NotFound: 404,
  MethodNotAllowed: 405,
  Conflict: 409,
  TooLarge: 413,
  Busy: 429,
  Overloaded: 503,
  StorageFailed: 503,
  Stopping: 503,
  Internal: 500,
} as const

type RefusalReason = keyof typeof refusals

/** Contains only what the caller may read. */
export class SidecarRefusal extends Error {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string) {
    super(message)
    this.reason = reason
  }
}

export function refuseRequest(reason: RefusalReason, message: string): never {
  throw new SidecarRefusal(reason, message)
}

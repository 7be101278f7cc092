import type { ErrorKind } from '../../core/errors.ts'

/** What a code says: as which kinds of error it comes, what it means, and what the caller can do. */
export type ErrorCodes = Readonly<
  Record<string, Readonly<{ kinds: readonly ErrorKind[]; means: string; remedy: string }>>
>

import type { ErrorKind } from '../../core/errors.ts'

/** Documentation of error codes: the kinds of errors that carry a code, its meaning, and what the caller can do. */
export type ErrorCodes = Readonly<
  Record<string, Readonly<{ kinds: readonly ErrorKind[]; means: string; remedy: string }>>
>

const DAMAGED = /^SQLITE_(?:CORRUPT|NOTADB)/

/** Returns whether SQLite reports a damaged file or one that is no database. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DAMAGED.test(String(error.code))
}

const DAMAGED = /^SQLITE_(?:CORRUPT|NOTADB)/

/** Returns whether SQLite says that a file is damaged, or no database. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DAMAGED.test(String(error.code))
}

// Written by `bun run migrations`.
import sql0 from './0000_initial.sql' with { type: 'text' }

/** Every migration in order, embedded as text. */
export const migrations = [
  { name: '0000_initial', sql: sql0 },
]

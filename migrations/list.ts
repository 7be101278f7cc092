// Written by `bun run migrations`.
import sql0 from './0000_start.sql' with { type: 'text' }
import sql1 from './0001_accounts.sql' with { type: 'text' }

/** Every migration in order, embedded as text. */
export const migrations = [
  { name: '0000_start', sql: sql0 },
  { name: '0001_accounts', sql: sql1 },
]

// Written by `bun run migrations`.
import sql0 from './0000_initial.sql' with { type: 'text' }
import sql1 from './0001_request_log.sql' with { type: 'text' }
import sql2 from './0002_key-settings.sql' with { type: 'text' }

/** Every migration in order, embedded as text. */
export const migrations = [
  { name: '0000_initial', sql: sql0 },
  { name: '0001_request_log', sql: sql1 },
  { name: '0002_key-settings', sql: sql2 },
]

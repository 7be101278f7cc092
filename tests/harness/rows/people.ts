import Database from 'better-sqlite3'
import { randomText } from '../../../src/core/ids.ts'
import { sha256 } from '../../../src/core/secrets.ts'
import { SESSION_COOKIE } from '../../../src/http/sessions/cookie.ts'
import { type Person, toPerson } from '../client.ts'

/**
 * Adds accounts signed in at `web` to a database file, because registration and sign-in take a second of hashing per
 * dozen.
 */
export function addPeople(file: string, web: string, count: number): Person[] {
  const database = new Database(file)
  const addUser = database.prepare(
    "INSERT INTO users (id, email, name, plan, created_at, updated_at) VALUES (@id, @email, 'Writer', 'network', @now, @now)",
  )
  const addSession = database.prepare(
    'INSERT INTO sessions (token_hash, user_id, created_at, expires_at) VALUES (@hash, @id, @now, @now + 86400000)',
  )
  const add = database.transaction(() =>
    Array.from({ length: count }, (_, index) => {
      const [id, email, token] = [`usr_writer_${index}`, `writer-${index}@example.com`, randomText(43)]
      addUser.run({ id, email, now: Date.now() })
      addSession.run({ id, hash: sha256(token), now: Date.now() })
      return toPerson(web, email, `${SESSION_COOKIE}=${token}`)
    }),
  )
  try {
    return add.immediate()
  } finally {
    database.close()
  }
}

/** The baseline of `session`: a server that reads the session and its user with one prepared statement, and nothing else. */
import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'

type User = { id: string; name: string; email: string }

const [file = ''] = process.argv.slice(2)
// Not a join: SQLite would prepare one anew with every value that is bound, which is nothing to be measured against.
const lookup = new Database(file, { readonly: true }).prepare<[string, number], User>(
  `SELECT id, name, email FROM users
   WHERE id = (SELECT user_id FROM sessions WHERE token_hash = ? AND expires_at > ?)`,
)

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const token = /service-session=(\w+)/.exec(request.headers.get('cookie') ?? '')?.[1] ?? ''
    const user = lookup.get(createHash('sha256').update(token).digest('hex'), Date.now())
    return Response.json({ user: user ? { ...user, isAdmin: false } : null })
  },
})
console.log(String(server.url))

/** The baseline of `session`: a server that only reads the session and its user with one prepared statement. */
import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'

type User = { id: string; name: string; email: string }

const [file = ''] = process.argv.slice(2)
// Not a join, which SQLite would prepare again for each new value.
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

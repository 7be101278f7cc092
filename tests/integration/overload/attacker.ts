/**
 * Signs in at a fixed rate, each time from a new address, and prints the responses as JSON: `bun attacker.ts <port>
 * <logins per second> <seconds> <known account,…>`. Missed seconds are not caught up.
 */
import { createConnection, type Socket } from 'node:net'

const CONNECTIONS = 400
const TICK_MS = 5

const [port = '0', rate = '0', seconds = '0', known = ''] = process.argv.slice(2)
const accounts = known.split(',')
const statuses: Record<string, number> = {}
let sent = 0
let withoutRetryAfter = 0
let broken = 0

const idle: Socket[] = []
await Promise.all(Array.from({ length: CONNECTIONS }, connect))

const startedAt = performance.now()
let missed = 0
while (performance.now() - startedAt < Number(seconds) * 1000) {
  const due = Math.floor(((performance.now() - startedAt) / 1000) * Number(rate))
  while (sent + missed < due) {
    const socket = idle.pop()
    if (!socket) {
      missed = due - sent
      break
    }
    socket.write(loginOf(sent++))
  }
  await Bun.sleep(TICK_MS)
}
await Bun.sleep(2000)
console.log(JSON.stringify({ sent, missed, statuses, withoutRetryAfter, broken }))
process.exit(0)

/** Every other attempt names an existing account; no address is used twice. */
function loginOf(index: number): string {
  const email = index % 2 === 0 ? accounts[(index / 2) % accounts.length] : `nobody${index}@example.com`
  const body = JSON.stringify({ email, password: `guess number ${index}` })
  const address = `20.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`
  return [
    'POST /api/auth/login HTTP/1.1',
    'host: localhost',
    'content-type: application/json',
    `content-length: ${body.length}`,
    `x-forwarded-for: ${address}`,
    '',
    body,
  ].join('\r\n')
}

/** Opens a connection, which carries one request at a time and is idle after the last byte of the response. */
function connect(): Promise<void> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port: Number(port) }, () => {
      idle.push(socket)
      resolve()
    })
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (data) => {
      text += data
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? Number.NaN)
      if (end < 0 || text.length < end + 4 + length) return
      note(text.slice(0, end))
      text = ''
      idle.push(socket)
    })
    socket.on('error', () => {
      broken++
      resolve()
    })
  })
}

function note(head: string): void {
  const status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3)
  statuses[status] = (statuses[status] ?? 0) + 1
  if (status === '429' && !/\r\nretry-after: \d/i.test(head)) withoutRetryAfter++
}

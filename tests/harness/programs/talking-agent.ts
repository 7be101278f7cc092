/**
 * An agent that logs on request: `/write?lines=` writes numbered lines, continued after a restart, `/say?text=&times=`
 * repeats a text, `/flood?lines=` writes many lines at once. `/die?code=` exits.
 */
import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs'

const { PORT, HOST } = process.env
const COUNTER = 'counter'
const FLOOD_TEXT = 'x'.repeat(100)

Bun.serve({
  port: Number(PORT),
  hostname: HOST ?? '127.0.0.1',
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    const lines = Number(searchParams.get('lines'))
    if (pathname === '/die') process.exit(Number(searchParams.get('code')))
    if (pathname === '/say')
      writeSync(1, `${searchParams.get('text')?.repeat(Number(searchParams.get('times') ?? 1))}\n`)
    if (pathname === '/write') writeNumbered(lines)
    if (pathname === '/flood') flood(lines)
    return Response.json({ ok: true, status: 'live' })
  },
})

function writeNumbered(lines: number): void {
  const from = existsSync(COUNTER) ? Number(readFileSync(COUNTER, 'utf8')) : 0
  writeFileSync(COUNTER, String(from + lines))
  for (let number = from + 1; number <= from + lines; number += 1) writeSync(1, `line ${number}\n`)
}

/** Writes in chunks, as a program that logs in a loop does. */
function flood(lines: number): void {
  for (let from = 0; from < lines; from += 100) {
    const piece = Array.from(
      { length: Math.min(100, lines - from) },
      (_, index) => `flood ${from + index} ${FLOOD_TEXT}`,
    )
    writeSync(1, `${piece.join('\n')}\n`)
  }
}

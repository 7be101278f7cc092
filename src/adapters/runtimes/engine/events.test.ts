import { expect, test } from 'bun:test'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { createEngine } from './engine.ts'
import { followEvents } from './events.ts'

const FIRST_NANO = 1_700_000_000_500_000_000

/** Simulates an engine that sends one event per connection, with the repeated ones, and disconnects. */
function serveEvents(unix: string, happened: string[]) {
  const toLine = (action: string, index: number) =>
    `${JSON.stringify({ Type: 'container', Action: action, Actor: { ID: 'c' }, timeNano: FIRST_NANO + index * 1_000_000 })}\n`
  const asked: (string | null)[] = []
  const server = Bun.serve({
    unix,
    fetch(request) {
      const url = new URL(request.url)
      if (!url.pathname.endsWith('/events')) return new Response('OK')
      const since = url.searchParams.get('since')
      asked.push(since)
      const lines = happened.map(toLine)
      return new Response(since === null ? lines[0] : lines.join(''))
    },
  })
  return { asked, [Symbol.dispose]: () => void server.stop(true) }
}

test('followEvents yields each event once when the connection is replaced', async () => {
  using folder = tempFolder()
  const socket = folder.file('docker.sock')
  using engine = serveEvents(socket, ['start', 'die', 'start'])
  const ending = new AbortController()
  const yielded: string[] = []
  const options = { instance: 'i', type: 'container', signal: ending.signal } as const
  for await (const event of followEvents(createEngine(`unix://${socket}`), options)) {
    yielded.push(event === 'connected' ? event : event.action)
    if (yielded.length === 5) break
  }
  ending.abort()
  expect(yielded).toEqual(['connected', 'start', 'connected', 'die', 'start'])
  expect(engine.asked).toEqual([null, '1700000000.5'])
})

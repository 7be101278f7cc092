import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { openHouse } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { openRaw } from '../harness/wires/raw-http.ts'

const MAIN = join(import.meta.dir, '..', '..', 'src', 'main.ts')
const PROGRAM = process.env.STEAD_UNDER_TEST ? [process.env.STEAD_UNDER_TEST] : [process.execPath, MAIN]
const DESCRIPTORS = 200
const WITH_FEW = ['bash', '-c', `ulimit -n ${DESCRIPTORS} && exec "$@"`, 'bash', ...PROGRAM] as const
const CROWD = 300
const WATCH_MS = 4000
/** `_SC_CLK_TCK` is 100 on every Linux. */
const TICK_MS = 10
const HEALTH = 'GET /api/health HTTP/1.1\r\nHost: localhost\r\n'

test.skipIf(process.platform !== 'linux')(
  'more connections than descriptors cost no processor time, end nobody who is served, and leave room when they go',
  async () => {
    await using house = await openHouse({ command: WITH_FEW })
    const program = await house.start()
    const { urls, pid, lines } = program
    const port = Number(new URL(urls.web).port)
    const says = (words: string) => lines.some((line) => line.includes(words))
    using served = await openRaw(urls.web)
    // A request whose head is not whole holds its connection as a stream does.
    await served.write(HEALTH)
    const crowd = Array.from({ length: CROWD }, () => {
      const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(HEALTH))
      // Those that do not fit are broken off.
      socket.on('error', () => socket.destroy())
      return socket
    })
    try {
      await until(
        'no descriptor to be left',
        () => says('no file descriptors are left') || descriptorsOf(pid) >= DESCRIPTORS,
      )
      const before = processorMs(pid)
      await Bun.sleep(WATCH_MS)
      const spentMs = processorMs(pid) - before
      console.log(`processor time: ${spentMs} ms of ${WATCH_MS}`)
      expect(spentMs).toBeLessThan(WATCH_MS / 10)
      await served.write('\r\n')
      expect((await served.answer()).status).toBe(200)
    } finally {
      for (const socket of crowd) socket.destroy()
    }
    for (const [name, path] of [
      ['web', '/api/health'],
      ['backend', '/health'],
      ['summarizer', '/health'],
    ] as const) {
      await until(`${name} to answer again`, async () => (await fetch(urls[name] + path).catch(() => null))?.ok)
    }
    await until('the word that it is over', () => says('file descriptors are free again'))
    const told = lines.filter((line) => line.includes('file descriptors')).map((line) => JSON.parse(line).level)
    expect(told).toEqual([40, 30])
    expect((await program.stop()).exitCode).toBe(0)
  },
  300_000,
)

/** What a process and its threads have spent, in whole ticks (proc(5): the 14th and 15th field). */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

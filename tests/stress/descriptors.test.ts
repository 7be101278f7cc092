import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { openRaw } from '../harness/wires/raw-http.ts'

const MAIN = join(import.meta.dir, '..', '..', 'src', 'main.ts')
const PROGRAM = process.env.STEAD_UNDER_TEST ? [process.env.STEAD_UNDER_TEST] : [process.execPath, MAIN]
const DESCRIPTORS = 200
const WITH_FEW = ['bash', '-c', `ulimit -n ${DESCRIPTORS} && exec "$@"`, 'bash', ...PROGRAM] as const
const CROWD = 300
const HEALTH = 'GET /api/health HTTP/1.1\r\nHost: localhost\r\n'

test.skipIf(process.platform !== 'linux')(
  'GET /api/health: 200 on an open connection without free file descriptors, and on every port when some are free',
  async () => {
    await using installation = await openInstallation({ command: WITH_FEW })
    const program = await installation.start()
    const { urls, pid, lines } = program
    const port = Number(new URL(urls.web).port)
    using served = await openRaw(urls.web)
    // An incomplete request header holds its connection, as a stream does.
    await served.write(HEALTH)
    const crowd = Array.from({ length: CROWD }, () => {
      const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(HEALTH))
      // Connections over the limit are reset.
      socket.on('error', () => socket.destroy())
      return socket
    })
    try {
      await until('all file descriptors to be in use', () => descriptorsOf(pid) >= DESCRIPTORS)
      await until('an error of a job in the log', () => lines.some((line) => line.includes('EMFILE')))
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
    expect((await program.stop()).exitCode).toBe(0)
  },
  300_000,
)

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

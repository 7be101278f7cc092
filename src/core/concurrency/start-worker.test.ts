import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'

/** Takes every file descriptor, starts a worker, frees the descriptors and starts another worker. */
const FIXTURE = `
import { closeSync, openSync } from 'node:fs'
import { startWorker } from ${JSON.stringify(join(import.meta.dir, 'start-worker.ts'))}
const SOURCE = 'data:text/javascript,postMessage("answered")'
const taken = []
try { for (;;) taken.push(openSync('/dev/null', 'r')) } catch {}
let code
try { startWorker(SOURCE) } catch (error) { code = error.code }
for (const descriptor of taken) closeSync(descriptor)
const worker = startWorker(SOURCE)
const { promise, resolve } = Promise.withResolvers()
worker.onmessage = ({ data }) => resolve(data)
const keepAlive = setInterval(() => undefined, 1000)
console.log(code, await promise)
clearInterval(keepAlive)
`

test.skipIf(process.platform !== 'linux')(
  'startWorker throws EMFILE when no file descriptors are free, and starts a worker when they are free again',
  async () => {
    using folder = tempFolder()
    const fixture = folder.file('fixture.ts')
    await Bun.write(fixture, FIXTURE)
    const limited = ['bash', '-c', 'ulimit -n 100 && exec "$@"', 'bash', process.execPath, fixture]
    const child = Bun.spawn(limited, { stdout: 'pipe', stderr: 'pipe' })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    expect({ stdout, stderr, exitCode: await child.exited }).toEqual({
      stdout: 'EMFILE answered\n',
      stderr: '',
      exitCode: 0,
    })
  },
)

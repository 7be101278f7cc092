import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'

/** Takes all descriptors but those the process keeps for itself, and says what becomes of a worker that is started then. */
const FIXTURE = `
import { openSync } from 'node:fs'
import { holdDescriptors } from ${JSON.stringify(join(import.meta.dir, 'spare-descriptors.ts'))}
import { startWorker } from ${JSON.stringify(join(import.meta.dir, 'start-worker.ts'))}
holdDescriptors(Number(process.argv[2]))
const takeAll = () => { try { for (;;) openSync('/dev/null', 'r') } catch {} }
takeAll()
try {
  const worker = startWorker('data:text/javascript,postMessage("answered")')
  // As connections are accepted as soon as the thread is free for them.
  if (process.argv[3] === 'taken') { holdDescriptors(0); takeAll() }
  worker.onmessage = ({ data }) => { console.log(data); process.exit() }
  await Bun.sleep(10_000)
} catch (error) {
  console.log(error.code)
}
`

test.skipIf(process.platform !== 'linux').each([
  ['is started', 32, 'free', 'answered'],
  ['is started although others take the rest at once', 32, 'taken', 'answered'],
  ['is refused with an error that can be caught', 0, 'free', 'EMFILE'],
] as const)('without file descriptors a worker %s', async (_, kept, rest, outcome) => {
  using folder = tempFolder()
  const fixture = folder.file('fixture.ts')
  await Bun.write(fixture, FIXTURE)
  const limited = ['bash', '-c', 'ulimit -n 100 && exec "$@"', 'bash', process.execPath, fixture, String(kept), rest]
  const child = Bun.spawn(limited, { stdout: 'pipe', stderr: 'pipe' })
  const [said, complained] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect({ said: said.trim(), complained, exitCode: await child.exited }).toEqual({
    said: outcome,
    complained: '',
    exitCode: 0,
  })
})

import { afterEach, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { readLines } from '../../../tests/harness/wires/lines.ts'

const PROGRAM = join(import.meta.dir, '../../../tests/harness/programs/leaving-agent.ts')
const Result = z.object({ exitCode: z.number(), stdout: z.string() })
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/**
 * Starts a process that runs the commands of `run` concurrently, as an agent does. `next` resolves with the next
 * result.
 */
async function start() {
  const folder = await mkdtemp(join(tmpdir(), 'stead-strays-'))
  const child = Bun.spawn([process.execPath, PROGRAM], { cwd: folder, stdin: 'pipe', stdout: 'pipe' })
  const lines = readLines(child.stdout)[Symbol.asyncIterator]()
  ends.push(async () => {
    child.kill('SIGKILL')
    await child.exited
    await rm(folder, { recursive: true, force: true })
  })
  const isAlive = async (file: string) => {
    const stat = await readFile(`/proc/${(await readFile(join(folder, file), 'utf8')).trim()}/stat`, 'utf8').catch(
      () => '',
    )
    return stat !== ''
  }
  return {
    folder,
    isAlive,
    run(...commands: string[]) {
      child.stdin.write(`${JSON.stringify(commands)}\n`)
      child.stdin.flush()
    },
    next: async () => Result.parse(JSON.parse(String((await lines.next()).value))),
  }
}

/** Starts a process that leaves the group, session, environment and parent of its command. */
const hide = (file: string) => `env -i setsid sh -c 'echo $$ > ${file}; exec sleep 600' >/dev/null 2>&1 &`

test('a process outside the session and environment of its command ends with the command and leaves no zombie', async () => {
  const { run, next, isAlive } = await start()
  run(`${hide('one')} ${hide('two')} until [ -s one ] && [ -s two ]; do sleep 0.05; done; echo ok`)
  expect(await next()).toEqual({ exitCode: 0, stdout: 'ok\n' })
  expect([await isAlive('one'), await isAlive('two')]).toEqual([false, false])
})

test('a process without its parent stays when another command ends', async () => {
  const { run, next, isAlive, folder } = await start()
  const leave = `(sh -c 'echo $$ > kept; exec sleep 600' >/dev/null 2>&1 &); setsid sh -c 'echo $$ > marked; exec sleep 600' >/dev/null 2>&1 &`
  run(
    `${leave} until [ -e go ]; do sleep 0.05; done; kill -0 $(cat kept) $(cat marked) && echo both`,
    'until [ -s kept ] && [ -s marked ]; do sleep 0.05; done; echo short',
  )
  expect(await next()).toEqual({ exitCode: 0, stdout: 'short\n' })
  await writeFile(join(folder, 'go'), '')
  expect(await next()).toEqual({ exitCode: 0, stdout: 'both\n' })
  expect([await isAlive('kept'), await isAlive('marked')]).toEqual([false, false])
})

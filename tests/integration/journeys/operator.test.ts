import { beforeAll, expect, test } from 'bun:test'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import manifest from '../../../package.json' with { type: 'json' }
import { openDatabase } from '../../../src/db/open.ts'
import { SentMessage } from '../../../src/features/conversations/chat/schemas.ts'
import { createAgent, type Person, signIn } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { findEngine, removeAll } from '../../harness/engines/engine.ts'
import { findExecutable } from '../../harness/engines/platform-image.ts'
import { read } from '../../harness/requests.ts'
import { dumpTables } from '../../harness/rows/dump.ts'
import { type Installation, openInstallation } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import { readTree } from '../backups/installation.ts'
import { answerLikeAModel, doMainJob, withProvider } from './main-job.ts'

const PATIENCE_MS = 600_000
const ROOT = join(import.meta.dir, '../..', '..')
const QUESTION = 'Do you remember me?'

const Created = z.object({ file: z.string(), agents: z.array(z.object({ id: z.string(), state: z.string() })) })
const AgentList = z.object({ agents: z.array(z.object({ id: z.string(), status: z.string() })) })

const engine = await findEngine()
const next = tempFolder()
const NEXT = next.file('stead-next')

beforeAll(async () => {
  if (!findExecutable()) await run([process.execPath, join(ROOT, 'scripts/build.ts')])
  await run([process.execPath, join(ROOT, 'tests/harness/programs/build-next-version.ts'), NEXT])
}, PATIENCE_MS)

test(
  'an operator installs, works, backs up, upgrades, rolls back, survives a kill, and moves to another host without losing data',
  async () => {
    await using provider = await startProvider(answerLikeAModel)
    using place = tempFolder()
    using _next = next
    const target = installFromRelease(place.path)
    const image = `stead-agent:operator-${process.pid}`
    const settings = {
      ...withProvider(provider),
      PATH: '/usr/bin:/bin',
      ...(engine && { AGENT_IMAGE: image, DOCKER_HOST: engine.dockerHost }),
    }
    await using installation = await openInstallation({ command: [target], isEmpty: true, environment: settings })
    await using other = await openInstallation({ command: [target], isEmpty: true, environment: settings })
    try {
      await doMainJob(installation, provider)
      if (engine) await workInContainer(installation)
      const file = await backUp(installation, place.file('backups'))
      const [rows, files] = [dump(installation), readStates(installation)]

      const before = await installation.agentPids()
      const upgraded = await installation.run(['upgrade', '--from', NEXT, '--yes'])
      expect(upgraded).toMatchObject({ exitCode: 0, stderr: '' })
      expect(await installation.agentPids()).toEqual(before)
      expect([versionOf(target), hasTomorrow(installation)]).toEqual(['9.0.0', true])

      const kept = dump(installation)
      writeVersion(
        place.file('bad'),
        '10.0.0',
        'echo spoilt > "$DATA_DIR/stead.db"; rm -f "$DATA_DIR"/stead.db-*; exit 1',
      )
      expect((await installation.run(['upgrade', '--from', place.file('bad'), '--yes'])).exitCode).toBe(3)
      expect([versionOf(target), dump(installation)]).toEqual(['9.0.0', kept])

      await killBetweenSwapAndStart(installation, target, place.path)
      expect(versionOf(target)).toBe('10.0.0')
      const program = await installation.start()
      await expectAgentsRemember(await signIn(program.urls.web))
      expect((await program.stop()).exitCode).toBe(0)

      const restored = await other.run(['backup', 'restore', file, '--data-dir', other.dataDir])
      expect(restored).toMatchObject({ exitCode: 0, stderr: '' })
      expect([dump(other), readStates(other)]).toEqual([rows, files])
      if (engine) await removeAll(engine.docker, instanceOf(installation))
      expect((await other.run(['adopt'])).exitCode).toBe(0)
      const moved = await other.start()
      await expectAgentsRemember(await signIn(moved.urls.web))
      expect((await moved.stop()).exitCode).toBe(0)
    } finally {
      if (engine) {
        for (const one of [installation, other])
          if (existsSync(join(one.dataDir, 'instance.id'))) await removeAll(engine.docker, instanceOf(one))
        await engine.docker
          .getImage(image)
          .remove({ force: true })
          .catch(() => undefined)
      }
    }
  },
  PATIENCE_MS,
)

/** Installs a built release with its install script. @returns the path of the program. */
function installFromRelease(folder: string): string {
  const release = join(folder, 'release')
  mkdirSync(release)
  const file = join(release, 'stead-linux-x64')
  copyFileSync(findExecutable() ?? '', file)
  const sum = Bun.CryptoHasher.hash('sha256', readFileSync(file), 'hex')
  writeFileSync(join(release, 'SHA256SUMS'), `${sum}  stead-linux-x64\n`)
  const args = ['--file', file, '--prefix', join(folder, 'root'), '--no-service']
  const { exitCode, stdout } = Bun.spawnSync(['sh', join(ROOT, 'scripts/install.sh'), ...args])
  const target = join(folder, 'root/bin/stead')
  expect([exitCode, stdout.toString()]).toEqual([
    0,
    expect.stringContaining(`Installed ${target}: stead ${manifest.version}`),
  ])
  return target
}

/** Creates an agent in a container of the image that the program builds, and lets it save a note. */
async function workInContainer(installation: Installation): Promise<void> {
  expect(await installation.run(['agent-image'])).toMatchObject({ exitCode: 0, stderr: '' })
  const program = await installation.start({ AGENT_RUNTIME: 'docker' })
  const person = await signIn(program.urls.web)
  const agentId = await createAgent(person, { name: 'Bo' })
  for (const message of ['Good morning', 'Please keep a note']) await say(person, agentId, message)
  expect((await program.stop()).exitCode).toBe(0)
}

async function backUp(installation: Installation, out: string): Promise<string> {
  const made = await installation.run(['backup', 'create', '--out', out, '--json'])
  expect(made).toMatchObject({ exitCode: 0, stderr: '' })
  const { file, agents } = Created.parse(JSON.parse(made.stdout))
  expect(agents.map(({ state }) => state)).toEqual(engine ? ['whole', 'whole'] : ['whole'])
  expect((await installation.run(['backup', 'verify', file])).exitCode).toBe(0)
  return file
}

/** Upgrades to a version that hangs in its first start, and kills the upgrade and its processes there. */
async function killBetweenSwapAndStart(installation: Installation, target: string, folder: string): Promise<void> {
  const [hanging, file] = [join(folder, 'hanging'), join(folder, 'later')]
  writeVersion(
    file,
    '10.0.0',
    `if [ ! -e "${hanging}" ]; then echo $$ > "${hanging}"; exec sleep 600; fi\nexec "${NEXT}" "$@"`,
  )
  const upgrading = installation.run(['upgrade', '--from', file, '--yes'])
  const started = await until('the start of the new version', () =>
    existsSync(hanging) ? readFileSync(hanging, 'utf8').trim() : null,
  )
  const parent = readFileSync(`/proc/${started}/stat`, 'utf8').split(' ')[3]
  for (const pid of [parent, started]) process.kill(Number(pid), 'SIGKILL')
  expect((await upgrading).exitCode).toBe(137)
  expect(existsSync(`${target}.before-upgrade`)).toBe(true)
}

/** Writes a program with this version whose `serve` runs the given script. */
function writeVersion(file: string, version: string, serve: string): void {
  const said = JSON.stringify({ stead: version, bun: Bun.version })
  writeFileSync(file, `#!/bin/sh\nif [ "$1" = version ]; then echo '${said}'; exit 0; fi\n${serve}\n`)
  chmodSync(file, 0o755)
}

async function expectAgentsRemember(person: Person): Promise<void> {
  const { agents } = await read(AgentList, person.get('/api/agents'))
  expect(agents).toHaveLength(engine ? 2 : 1)
  for (const { id } of agents) {
    await until(`${id} answers`, async () => (await person.post('/api/chat', { agentId: id, message: QUESTION })).ok)
    expect(await say(person, id, 'Please keep a note')).toBe('The note says: Tea at four.')
  }
}

async function say(person: Person, agentId: string, message: string): Promise<string | null> {
  return (await read(SentMessage, person.post('/api/chat', { agentId, message }))).reply ?? null
}

function versionOf(target: string): string {
  const { stdout } = Bun.spawnSync([target, 'version', '--json'])
  return z.object({ stead: z.string() }).parse(JSON.parse(stdout.toString())).stead
}

function hasTomorrow({ dataDir }: Installation): boolean {
  const database = new Database(join(dataDir, 'stead.db'), { readonly: true })
  try {
    return database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'tomorrow'").get() !== undefined
  } finally {
    database.close()
  }
}

function dump({ dataDir }: Installation): string {
  const connection = openDatabase(join(dataDir, 'stead.db'))
  try {
    return dumpTables(connection.db)
  } finally {
    connection.close()
  }
}

/** Reads the data of process agents; containers store theirs in the engine. */
function readStates({ dataDir }: Installation): Record<string, string> {
  const stored = readTree(join(dataDir, 'agents'))
  return Object.fromEntries(Object.entries(stored).filter(([path]) => path.includes('/state/')))
}

function instanceOf({ dataDir }: Installation): string {
  return readFileSync(join(dataDir, 'instance.id'), 'utf8').trim()
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { cwd: ROOT, stdout: 'ignore' })
  expect(await child.exited).toBe(0)
}

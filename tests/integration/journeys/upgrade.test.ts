import { beforeAll, expect, test } from 'bun:test'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import manifest from '../../../package.json' with { type: 'json' }
import { createAgent, signUp } from '../../harness/client.ts'
import { findEngine } from '../../harness/engines/engine.ts'
import { addMigratedDatabase } from '../../harness/rows/migrated-file.ts'
import { findAgentPids, type Installation, openInstallation } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'

const PATIENCE_MS = 600_000
const ROOT = join(import.meta.dir, '../..', '..')
const BUILT = process.env.STEAD_UNDER_TEST ?? join(ROOT, 'dist/stead')

beforeAll(async () => {
  if (process.env.STEAD_UNDER_TEST) return
  const build = Bun.spawn([process.execPath, join(ROOT, 'scripts/build.ts')], { stdout: 'ignore' })
  expect(await build.exited).toBe(0)
}, PATIENCE_MS)

/** Installs an executable in its own folder, for other versions next to it. */
async function openInstalled(environment: Record<string, string> = {}) {
  const folder = tempFolder()
  const target = folder.file('stead')
  const other = folder.file('other')
  copyFileSync(BUILT, target)
  copyFileSync(BUILT, folder.file('real'))
  chmodSync(target, 0o755)
  chmodSync(folder.file('real'), 0o755)
  const installation: Installation = await openInstallation({
    command: [target],
    environment: { PATH: '/usr/bin:/bin', ...environment },
  })
  return {
    ...installation,
    target,
    other,
    /** Writes a version 9.0.0 whose `serve` runs the given script, which may start the real program. */
    writeOtherVersion(serve: string, says = '{"stead":"9.0.0","bun":"1.0.0"}') {
      writeFileSync(other, `#!/bin/sh\nif [ "$1" = version ]; then echo '${says}'; exit 0; fi\n${serve}\n`)
      chmodSync(other, 0o755)
    },
    real: folder.file('real'),
    upgrade: (...args: string[]) => installation.run(['upgrade', '--from', other, '--yes', ...args]),
    users: async () => (await installation.run(['user', 'list'])).stdout,
    isAsBefore: () => readFileSync(target).equals(readFileSync(BUILT)),
    async [Symbol.asyncDispose]() {
      await installation[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

async function createUser(installation: Installation): Promise<void> {
  await addMigratedDatabase(installation.dataDir)
  const { exitCode } = await installation.run(['user', 'create', 'ada@example.com', '--password-stdin'], {
    stdin: 'a long password',
  })
  expect(exitCode).toBe(0)
}

test(
  'upgrade --from: exits with 0 after a backup and a trial; the new executable is installed and the old one kept',
  async () => {
    await using it = await openInstalled()
    await createUser(it)
    it.writeOtherVersion(`exec "${it.real}" "$@"`)
    const sum = Bun.CryptoHasher.hash('sha256', readFileSync(it.other), 'hex')
    writeFileSync(`${it.other}.sha256`, `${sum}  other\n`)
    const { exitCode, stdout, stderr } = await it.upgrade()
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toContain(`SHA-256 ${sum}\n`)
    expect(stdout).toContain(`${it.target}: ${manifest.version} to 9.0.0\n`)
    expect(readFileSync(it.target, 'utf8')).toBe(readFileSync(it.other, 'utf8'))
    expect(readFileSync(`${it.target}.before-upgrade`).equals(readFileSync(BUILT))).toBe(true)
    expect(readdirSync(join(it.dataDir, 'backups'))).toEqual([expect.stringMatching(/^stead-.+\.tar$/)])
    expect(await it.users()).toContain('ada@example.com')
  },
  PATIENCE_MS,
)

const engine = await findEngine()

test.skipIf(engine === null)(
  'upgrade --from: builds the agent image of the new version with the current packs when agents run in containers',
  async () => {
    if (!engine) return
    const [present, next] = [`stead-agent:${manifest.version}`, 'stead-agent:9.0.0']
    const hasImage = async (name: string) =>
      (await engine.docker.listImages({ filters: { reference: [name] } })).length > 0
    expect([await hasImage(present), await hasImage(next)]).toEqual([false, false])
    await using it = await openInstalled({ AGENT_RUNTIME: 'auto', DOCKER_HOST: engine.dockerHost })
    await createUser(it)
    it.writeOtherVersion(`exec "${it.real}" "$@"`)
    try {
      // An installation without containers does not get an image.
      expect((await it.upgrade()).stdout).not.toContain('stead-agent')
      copyFileSync(it.real, it.target)
      expect((await it.run(['agent-image'])).exitCode).toBe(0)
      const { exitCode, stdout } = await it.upgrade()
      expect(exitCode).toBe(0)
      expect(stdout).toContain(`Agent image ${next}.`)
      expect(await hasImage(next)).toBe(true)
    } finally {
      for (const name of [present, next])
        if (await hasImage(name)) await engine.docker.getImage(name).remove({ force: true })
    }
  },
  PATIENCE_MS,
)

/** Versions whose start fails, with the expected reason. */
const UNWELL: readonly [serve: string, reason: string][] = [
  ['echo "cannot run" >&2; exit 1', 'it ended: cannot run'],
  ['echo spoilt > "$DATA_DIR/stead.db"; rm -f "$DATA_DIR"/stead.db-*; exit 78', 'it ended'],
]

test(
  'upgrade --from: exits with 3 and restores executable and database when the new one fails; the old one refuses a newer database with 78',
  async () => {
    await using it = await openInstalled()
    await createUser(it)
    for (const [serve, reason] of UNWELL) {
      it.writeOtherVersion(serve)
      const { exitCode, stdout } = await it.upgrade()
      expect(exitCode).toBe(3)
      expect(stdout).toContain(`The new version is not well: ${reason}`)
      expect(stdout).toContain(`Went back: ${it.target} is ${manifest.version} again`)
      expect(it.isAsBefore()).toBe(true)
      expect(existsSync(`${it.target}.before-upgrade`)).toBe(false)
      expect(await it.users()).toContain('ada@example.com')
    }
    expect((await (await it.start()).stop()).exitCode).toBe(0)

    const further = `${it.dataDir}/further.db`
    copyFileSync(join(it.dataDir, 'stead.db'), further)
    const newer = new Database(further)
    newer.exec("INSERT INTO migrations VALUES ('9999_of_tomorrow', 'hash', 0)")
    newer.close()
    it.writeOtherVersion(`cp "${further}" "$DATA_DIR/stead.db"; rm -f "$DATA_DIR"/stead.db-*; exit 1`)
    expect((await it.upgrade()).exitCode).toBe(3)
    expect(await it.users()).toContain('ada@example.com')

    copyFileSync(further, join(it.dataDir, 'stead.db'))
    const before = readFileSync(join(it.dataDir, 'stead.db'))
    const refused = await it.run(['serve'])
    expect(refused.exitCode).toBe(78)
    expect(refused.stderr).toMatch(/^stead: [^\n]*newer[^\n]*\n$/)
    expect(readFileSync(join(it.dataDir, 'stead.db')).equals(before)).toBe(true)
  },
  PATIENCE_MS,
)

test(
  'upgrade --from: agents keep running while the new version is tried and rolled back',
  async () => {
    await using it = await openInstalled({ AI_ECHO: 'true' })
    const program = await it.start()
    await createAgent(await signUp(program.urls.web))
    await program.stop()
    const before = await findAgentPids(it.dataDir)
    expect(before.size).toBe(1)
    it.writeOtherVersion('exit 1')
    expect((await it.upgrade()).exitCode).toBe(3)
    expect(await findAgentPids(it.dataDir)).toEqual(before)
    for (const pid of before.values()) expect(existsSync(`/proc/${pid}`)).toBe(true)
  },
  PATIENCE_MS,
)

test(
  'upgrade --from: exits with 1 when the current state cannot be backed up, and the stopped service runs again',
  async () => {
    await using it = await openInstalled()
    await createUser(it)
    it.writeOtherVersion(`exec "${it.real}" "$@"`)
    using folder = tempFolder()
    using service = Bun.serve({ port: 0, fetch: () => new Response('well') })
    const calls = folder.file('calls')
    const units = folder.file('config/systemd/user')
    const commands = folder.file('bin')
    mkdirSync(units, { recursive: true })
    mkdirSync(commands)
    writeFileSync(join(units, 'stead.service'), `[Service]\nWorkingDirectory=${it.dataDir}\n`)
    writeFileSync(join(commands, 'systemctl'), `#!/bin/sh\necho "$2" >> "${calls}"\n`, { mode: 0o755 })
    // A folder blocks the path of the database copy.
    mkdirSync(join(it.dataDir, 'backups', 'before-upgrade.db', 'x'), { recursive: true })
    const environment = {
      XDG_CONFIG_HOME: folder.file('config'),
      PATH: `${commands}:/usr/bin:/bin`,
      WEB_PORT: String(service.port),
    }
    const { exitCode, stderr } = await it.run(['upgrade', '--from', it.other, '--yes', '--user'], { environment })
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(/^stead: upgrade: nothing was changed: .+\n$/),
    })
    expect(it.isAsBefore()).toBe(true)
    const actions = readFileSync(calls, 'utf8').split('\n')
    expect(actions.filter((action) => action === 'stop' || action === 'start')).toEqual(['stop', 'start'])
  },
  PATIENCE_MS,
)

test(
  'upgrade --from: exits with 1 and changes nothing without a file, a Stead, the checksum or consent, and when a service runs',
  async () => {
    await using it = await openInstalled()
    const refuse = async (args: string[], reason: RegExp) => {
      const { exitCode, stderr } = await it.run(['upgrade', '--from', it.other, ...args])
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(reason) })
      expect(it.isAsBefore()).toBe(true)
      expect(existsSync(`${it.target}.new`)).toBe(false)
    }
    await refuse(['--yes'], /^stead: upgrade: there is no \S+other\n$/)
    it.writeOtherVersion('exit 0', 'hello')
    await refuse(['--yes'], /is no Stead\n$/)
    it.writeOtherVersion(`exec "${it.real}" "$@"`)
    await refuse(['--yes', '--sha256', '0'.repeat(64)], /sums up to [0-9a-f]{64}, not to 0{64}\n$/)
    writeFileSync(join(it.other, '..', 'SHA256SUMS'), `${'1'.repeat(64)}  other\n`)
    await refuse(['--yes'], /not to 1{64}\n$/)
    writeFileSync(join(it.other, '..', 'SHA256SUMS'), `${'1'.repeat(64)}  another\n`)
    await refuse([], /nothing was changed: say --yes\n$/)
    mkdirSync(it.dataDir, { recursive: true })
    const program = await it.start()
    await refuse(['--yes'], /another Stead is already running on .+stop it, upgrade, and start it again\n$/)
    expect((await fetch(`${program.urls.web}/healthz`)).status).toBe(200)
    expect((await it.run(['upgrade'])).exitCode).toBe(2)
  },
  PATIENCE_MS,
)

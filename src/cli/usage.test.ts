import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { addMigratedDatabase } from '../../tests/harness/rows/migrated-file.ts'
import { type Finished, openInstallation } from '../../tests/harness/server.ts'
import { readLines } from '../../tests/harness/wires/lines.ts'
import { createProgram, toArguments } from './program.ts'

/** Only against hanging: a spawned program takes a second, and several on a busy machine. */
const PATIENCE_MS = 120_000
const HOLDER = join(import.meta.dir, '../../tests/harness/programs/database-holder.ts')

/** Every command with the commands below it, as words. */
function listCommands(command: Command, path: string[] = []): { words: string[]; command: Command }[] {
  const below = command.commands.filter((one) => one.name() !== 'help')
  return [{ words: path, command }, ...below.flatMap((one) => listCommands(one, [...path, one.name()]))]
}

/** Runs `stead … --help` inside this process: starting a process for every command takes too long. */
async function readHelp(words: string[]): Promise<Finished> {
  const program = createProgram()
  const said: string[] = []
  const complaints: string[] = []
  for (const { command } of listCommands(program)) {
    command.configureOutput({
      writeOut: (text) => void said.push(text),
      writeErr: (text) => void complaints.push(text),
      getOutHelpWidth: () => 80,
    })
  }
  const end = await program
    .parseAsync(toArguments(program, [...words, '--help']), { from: 'user' })
    .catch((error) => error)
  expect(end).toBeInstanceOf(CommanderError)
  return { exitCode: end.exitCode, stdout: said.join(''), stderr: complaints.join('') }
}

test('every command prints help with an example, and has --json when it prints data', async () => {
  for (const { words, command } of listCommands(createProgram())) {
    const { exitCode, stdout, stderr } = await readHelp(words)
    expect([words, exitCode, stderr]).toEqual([words, 0, ''])
    expect(stdout).toMatch(/\nExamples?:\n {2}\S/)
    expect(stdout).toContain(`stead ${words.join(' ')}`.trim())
    const isOfManager = words[0] === 'service' && words[1] !== 'status'
    const printsNone = ['serve', 'agent', 'completion', 'upgrade'].includes(command.name())
    const printsNoData = command.commands.length > 0 || printsNone || isOfManager
    if (!printsNoData) expect([words, stdout]).toEqual([words, expect.stringContaining('--json')])
  }
})

test.each([[[]], [['user']], [['user', 'create']], [['doctor']]])(
  'stead %j --help: prints help on standard output with exit code 0, and creates nothing',
  async (words: string[]) => {
    await using installation = await openInstallation()
    const finished = await installation.run([...words, '--help'])
    expect(finished).toEqual(await readHelp(words))
    expect(finished.exitCode).toBe(0)
    expect(existsSync(installation.dataDir)).toBe(false)
  },
  PATIENCE_MS,
)

test.each([
  [['sevre'], "unknown command 'sevre': is serve meant? (stead --help lists them)"],
  [['xyzzy'], "unknown command 'xyzzy' (stead --help lists them)"],
  [['xyzzy', '--help'], "unknown command 'xyzzy' (stead --help lists them)"],
  [['help', 'docter'], "unknown command 'docter': is doctor meant? (stead --help lists them)"],
  [
    ['user', 'sett-plan', 'a@b.c', 'solo'],
    "unknown command 'sett-plan': is set-plan meant? (stead user --help lists them)",
  ],
  [['--stop-agnts'], "unknown option '--stop-agnts' (Did you mean --stop-agents?)"],
  [['serve', 'now'], "too many arguments for 'serve'. Expected 0 arguments but got 1: now."],
  [['user', 'set-plan', 'ada@example.com'], "missing required argument 'plan'"],
  [['user', 'create', 'ada@example.com'], "required option '--password-stdin' not specified"],
])(
  'stead %j: exits with 2 and one line with the error',
  async (args, line) => {
    await using installation = await openInstallation()
    expect(await installation.run(args)).toEqual({ exitCode: 2, stdout: '', stderr: `stead: ${line}\n` })
    expect(existsSync(installation.dataDir)).toBe(false)
  },
  PATIENCE_MS,
)

test(
  'stead user and stead config: exit with 2 and print their help on standard error',
  async () => {
    await using installation = await openInstallation()
    for (const name of ['user', 'config']) {
      const { exitCode, stdout, stderr } = await installation.run([name])
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
      expect(stderr).toContain(`Usage: stead ${name}`)
    }
  },
  PATIENCE_MS,
)

test(
  'stead --version and -V print the same as the version command',
  async () => {
    await using installation = await openInstallation()
    const said = { exitCode: 0, stdout: `stead ${manifest.version} (bun ${Bun.version})\n`, stderr: '' }
    for (const args of [['--version'], ['-V'], ['version']]) expect(await installation.run(args)).toEqual(said)
  },
  PATIENCE_MS,
)

test.each([
  ['WEB_PORT', 'abc', 'WEB_PORT: must be a number, not "abc"'],
  ['WEB_PORT', '70000', 'WEB_PORT: must be at most 65535, not "70000"'],
  ['BACKEND_PORT', '80.5', 'BACKEND_PORT: must be a whole number, not "80.5"'],
  ['DEPLOYMENT_MODE', 'Cloud', 'DEPLOYMENT_MODE: must be cloud, home or link, not "Cloud"'],
  ['KILL_SWITCH', 'maybe', 'KILL_SWITCH: must be true, 1, yes, on, false, 0, no or off, not "maybe"'],
  ['APP_URL', 'stead.example', 'APP_URL: must be an http or https URL, not "stead.example"'],
  ['ENCRYPTION_KEY', 'secret-canary', 'ENCRYPTION_KEY: must have at least 16 characters'],
  ['APP_URL', 'ftp://ada:secret-canary@stead.example', 'APP_URL: must be an http or https URL'],
])(
  '%s=%s: exits with 78 and one line with the variable and its value, unless it is a secret',
  async (name, value, line) => {
    await using installation = await openInstallation()
    const finished = await installation.run([], { environment: { [name]: value } })
    expect(finished).toEqual({ exitCode: 78, stdout: '', stderr: `stead: ${line}\n` })
  },
  PATIENCE_MS,
)

const MISSPELT = 'WEB_PRT is no setting and does nothing: is WEB_PORT meant?'

test(
  'every command that reads settings names the nearest variable when one is misspelt, and continues',
  async () => {
    await using installation = await openInstallation({
      environment: { WEB_PORT: '', HOMEBREW_PREFIX: '/opt', DB_PORT: '5432' },
    })
    const environment = { WEB_PRT: '8080' }
    const run = (...args: string[]) => installation.run(args, { environment })
    expect(JSON.parse((await run('config', 'check', '--json')).stdout).warnings).toEqual([MISSPELT])
    expect((await run('doctor')).stdout).toContain(`! settings: ${MISSPELT}\n`)
    for (const args of [['config', 'print', '--json'], ['user', 'list', '--json'], ['migrate']]) {
      expect(await run(...args)).toMatchObject({ exitCode: 0, stderr: `stead: ${MISSPELT}\n` })
    }
    const other = await installation.start({ ...environment, WEB_PORT: '0', BACKEND_PROT: '1', BACKEND_PORT: '' })
    expect(other.lines.join('\n')).toContain('BACKEND_PROT is no setting and does nothing: is BACKEND_PORT meant?')
    // A similar variable is ignored when the setting itself is set.
    expect(other.lines.join('\n')).not.toContain('WEB_PRT')
    expect((await other.stop()).exitCode).toBe(0)
  },
  PATIENCE_MS,
)

test(
  'every command exits with 75 and one line when the database is locked',
  async () => {
    await using installation = await openInstallation()
    await addMigratedDatabase(installation.dataDir)
    const holder = Bun.spawn([process.execPath, HOLDER, join(installation.dataDir, 'stead.db')], { stdout: 'pipe' })
    try {
      for await (const line of readLines(holder.stdout)) if (line === 'locked') break
      const create = ['user', 'create', 'ada@example.com', '--password-stdin']
      for (const args of [['serve'], create]) {
        const { exitCode, stdout, stderr } = await installation.run(args, { stdin: 'a long password' })
        expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 75, stdout: '' })
        expect(stderr).toMatch(/^stead: DATA_DIR: [^\n]*database is locked[^\n]*\n$/)
      }
    } finally {
      holder.kill('SIGKILL')
      await holder.exited
    }
    const { exitCode } = await installation.run(['user', 'create', 'ada@example.com', '--password-stdin'], {
      stdin: 'a long password',
    })
    expect(exitCode).toBe(0)
  },
  PATIENCE_MS,
)

test(
  'stead serve: exits with 78 and a line that names HOST when the address is not of this machine',
  async () => {
    await using installation = await openInstallation()
    const environment = { HOST: '192.0.2.7', APP_URL: 'https://stead.example' }
    const finished = await installation.run(['serve'], { environment })
    expect(finished).toEqual({
      exitCode: 78,
      stdout: '',
      stderr: 'stead: HOST: this machine has no address 192.0.2.7\n',
    })
  },
  PATIENCE_MS,
)

test.each(['docker', 'swarm'])(
  'stead doctor: exits with 1 when AGENT_RUNTIME=%s and no engine responds',
  async (runtime) => {
    await using installation = await openInstallation()
    const environment = { AGENT_RUNTIME: runtime, DOCKER_HOST: '/nowhere/docker.sock' }
    const { exitCode, stdout } = await installation.run(['doctor'], { environment })
    expect(exitCode).toBe(1)
    expect(stdout).toContain(
      `✗ agents: AGENT_RUNTIME=${runtime} cannot run them: no container engine answers at DOCKER_HOST=/nowhere/docker.sock (start Docker)\n`,
    )
  },
  PATIENCE_MS,
)

test(
  'stead config print: prints every setting by its variable, for a shell or as JSON',
  async () => {
    await using installation = await openInstallation()
    const environment = { WEB_PORT: '4000', ADMIN_EMAILS: 'a@x.org, B@x.org', AGENT_RUNTIME: '', SMTP_URL: '' }
    const { stdout } = await installation.run(['config', 'print'], { environment })
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toContain('WEB_PORT=4000')
    expect(lines).toContain('ADMIN_EMAILS=a@x.org,b@x.org')
    expect(lines).toContain('AGENT_RUNTIME=auto')
    expect(lines).toContain('SMTP_URL=')
    expect(lines.every((line) => /^[A-Z][A-Z0-9_]*=/.test(line))).toBe(true)
    const json = JSON.parse((await installation.run(['config', 'print', '--json'], { environment })).stdout)
    expect(json).toMatchObject({ WEB_PORT: 4000, ADMIN_EMAILS: ['a@x.org', 'b@x.org'], SMTP_URL: null })
  },
  PATIENCE_MS,
)

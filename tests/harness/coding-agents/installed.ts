import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { tempFolder } from '../temp-folder.ts'

/** The folder into which `scripts/test-peers` installs the clients. */
const FOLDER = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'stead', 'test-clients', 'node_modules')
/** Executable of each client, in the package for this platform. */
const EXECUTABLES = { claude: '@anthropic-ai/claude-code-*/claude', codex: '@openai/codex-*/vendor/*/bin/codex' }
/** A closed port as the proxy, so that requests to any address but loopback fail. */
const NO_PROXY = 'http://127.0.0.1:9'

/** Returns the paths of both coding agents, or null if they are not installed. */
export function findCodingAgents(): Record<keyof typeof EXECUTABLES, string> | null {
  if (!existsSync(FOLDER)) return null
  const find = (pattern: string) => [...new Bun.Glob(pattern).scanSync({ cwd: FOLDER })][0]
  const [claude, codex] = [find(EXECUTABLES.claude), find(EXECUTABLES.codex)]
  return claude && codex ? { claude: join(FOLDER, claude), codex: join(FOLDER, codex) } : null
}

/** Exit code and output of a program. */
type Ended = { exitCode: number; output: string }

/** A new home folder with only the coding agents installed. */
export type TestHome = Disposable & {
  home: string
  /** The empty working directory of the commands. */
  project: string
  /** Runs a command with only `variables` in its environment. It is killed after two minutes. */
  run(command: readonly [string, ...string[]], variables: Record<string, string>): Promise<Ended>
}

/** Creates an empty home folder with an empty project. */
export function openTestHome(): TestHome {
  const folder = tempFolder()
  const [home, project, bin] = [folder.file('home'), folder.file('project'), folder.file('bin')]
  for (const path of [home, project, bin]) mkdirSync(path)
  for (const [name, path] of Object.entries(findCodingAgents() ?? {})) symlinkSync(path, join(bin, name))
  Bun.spawnSync(['git', 'init', '-q', project])
  return {
    home,
    project,
    async run(command, variables) {
      const child = Bun.spawn([...command], {
        cwd: project,
        env: {
          HOME: home,
          PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
          TMPDIR: folder.path,
          HTTP_PROXY: NO_PROXY,
          HTTPS_PROXY: NO_PROXY,
          NO_PROXY: '127.0.0.1,localhost',
          ...QUIET,
          ...variables,
        },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
        timeout: 120_000,
        killSignal: 'SIGKILL',
      })
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
      return { exitCode: await child.exited, output: `${stdout}${stderr}` }
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

/** Turns off telemetry, updates and every request that is not a model call. */
const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_ERROR_REPORTING: '1',
}

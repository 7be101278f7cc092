/** `bun run build [--target bun-linux-arm64]`: `dist/stead`, one executable that needs nothing beside it. */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { BunPlugin } from 'bun'
import { buildWeb } from './build-web.ts'

const root = join(import.meta.dir, '..')

/**
 * Builds the dashboard into `webFolder`, then the executable with the dashboard and SQLite's native code inside.
 * `target` is as Bun names it and defaults to this machine.
 * @throws when the bundler reports an error or `target` has no native code of better-sqlite3.
 */
async function build(outfile: string, webFolder: string, target: string): Promise<void> {
  const platform = nativePlatform(target)
  await buildWeb(webFolder)
  await mkdir(dirname(outfile), { recursive: true })
  const result = await Bun.build({
    // Beside the program, what it starts as workers.
    entrypoints: [
      join(root, 'src/main.ts'),
      join(root, 'src/adapters/pages/worker.ts'),
      join(root, 'src/adapters/git/worker.ts'),
      join(root, 'src/adapters/models/token-worker.ts'),
      join(root, 'src/db/wal/checkpoint-worker.ts'),
    ],
    minify: true,
    // What the program and its workers share stands in the executable once, and is loaded when it is needed.
    splitting: true,
    // Parsed here and not at each start, which takes half the processor time of one: a health check is a start as well.
    bytecode: true,
    format: 'esm',
    // A map of the sources would be a twelfth of the executable.
    sourcemap: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [embedSqlite(platform)],
    // ssh2 does without the first; its native code is compiled on install, which we do not run. mppx would load the second
    // for payments inside of MCP, which we do not take.
    external: ['cpu-features', '@modelcontextprotocol/sdk'],
    compile: {
      target: toCompileTarget(target),
      outfile,
      assets: [webFolder],
      // Settings come from the environment alone: a `.env` or `bunfig.toml` in an agent's workspace must not be read.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })
  if (!result.success) throw new AggregateError(result.logs, 'The executable does not build')
}

/** The entry of better-sqlite3 that names its native code literally, so that the bundler finds and embeds it. */
function embedSqlite(platform: string): BunPlugin {
  const entry = Bun.resolveSync(`better-sqlite3/${platform}`, root)
  return {
    name: 'embed-sqlite',
    setup(builder) {
      builder.onResolve({ filter: /^better-sqlite3$/ }, () => ({ path: entry }))
    },
  }
}

/** `bun-linux-x64-modern-musl` is `linuxmusl-x64` to better-sqlite3. */
function nativePlatform(target: string): string {
  const [, system = '', arch = '', ...rest] = target.split('-')
  const names = new Map([
    ['linux', rest.includes('musl') ? 'linuxmusl' : 'linux'],
    ['darwin', 'darwin'],
    ['windows', 'win32'],
  ])
  const name = names.get(system)
  if (!name || !['x64', 'arm64'].includes(arch)) throw new Error(`--target ${target}: no native code of better-sqlite3`)
  return `${name}-${arch}`
}

/** Bun's type lists every target; `nativePlatform` has checked the parts that matter here. */
function toCompileTarget(target: string): Bun.Build.CompileTarget {
  return target as Bun.Build.CompileTarget
}

function ownTarget(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const isMusl =
    process.platform === 'linux' && !JSON.stringify(process.report.getReport()).includes('glibcVersionRuntime')
  return `bun-${system}-${process.arch}${isMusl ? '-musl' : ''}`
}

/** An executable for elsewhere leaves `web/dist` as it is: a service in this checkout may serve it. */
async function buildExecutable(target: string): Promise<void> {
  if (values.outfile === undefined) return build(outfile, join(root, 'web/dist'), target)
  const folder = await mkdtemp(join(tmpdir(), 'stead-build-'))
  // The last part of the name is what the program finds its files by.
  await build(outfile, join(folder, 'dist'), target).finally(() => rm(folder, { recursive: true, force: true }))
}

const { values } = parseArgs({ options: { target: { type: 'string' }, outfile: { type: 'string' } } })
const outfile = values.outfile ?? join(root, 'dist/stead')
const startedAt = performance.now()
await buildExecutable(values.target ?? ownTarget())
const { size } = await stat(outfile)
console.log(
  `${outfile} ${(size / 1_000_000).toFixed(1)} MB in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
)

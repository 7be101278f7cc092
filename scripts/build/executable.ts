import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BunPlugin } from 'bun'
import { BUNDLING, leaveOut } from './bundling.ts'
import { readTarget } from './executable-format.ts'
import { readInputs } from './packages.ts'
import { TARGETS, type Target } from './targets.ts'

/** The program finds the dashboard by the last part of this name. */
const EMBEDDED_FOLDER = 'dist'

const root = join(import.meta.dir, '../..')
/** Enough bytes for all headers. */
const HEADERS_BYTES = 65_536

/**
 * Builds the program for `target` into `outfile`, with the dashboard of `webFolder` and the native code of SQLite.
 * Builds are reproducible. `changes` are plugins that make another program, for tests of upgrades.
 * @returns the paths of the source files. @throws Error when the bundler reports an error or the result is for another
 * platform.
 */
export async function buildExecutable(
  outfile: string,
  webFolder: string,
  target: Target,
  changes: readonly BunPlugin[] = [],
): Promise<string[]> {
  await mkdir(dirname(outfile), { recursive: true })
  // The executable contains its own name, so the name must be constant.
  const folder = await mkdtemp(join(dirname(outfile), '.build-'))
  try {
    const built = join(folder, 'stead')
    await copyCompressed(webFolder, join(folder, EMBEDDED_FOLDER))
    const plugins = [...changes, embedSqlite(TARGETS[target].sqlite), leaveOut]
    const inputs = await bundle(built, join(folder, EMBEDDED_FOLDER), TARGETS[target].bun, plugins)
    const found = readTarget(await Bun.file(built).slice(0, HEADERS_BYTES).bytes())
    if (found !== target) throw new Error(`The executable is for ${found}, not for ${target}`)
    await rename(built, outfile)
    return inputs
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Entry points of worker threads. */
const WORKERS = ['src/db/wal/checkpoint-worker.ts']

async function bundle(
  outfile: string,
  assets: string,
  target: Bun.Build.CompileTarget,
  plugins: BunPlugin[],
): Promise<string[]> {
  const result = await Bun.build({
    ...BUNDLING,
    entrypoints: [join(root, 'src/main.ts'), ...WORKERS.map((path) => join(root, path))],
    // Modules that the program imports when it needs them are loaded then.
    splitting: true,
    // Parsing at build time halves the CPU time of a start, and each health check of a container is a start.
    bytecode: true,
    plugins,
    compile: {
      target,
      outfile,
      assets: [assets],
      // Settings come from the environment alone: a `.env` or `bunfig.toml` in an agent's workspace must not be read.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })
  if (!result.success) throw new AggregateError(result.logs, 'The executable does not build')
  return readInputs(result).filter((path) => existsSync(path))
}

/** Embeds only the compressed form of a file that has one. */
async function copyCompressed(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, filter: (path) => !existsSync(`${path}.br`) })
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

/**
 * `bun run migrations`: writes the tables' changes as a new SQL file and lists all files for embedding. With `--check` it
 * changes nothing and fails when a file would change.
 */
import { readdirSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const folder = join(import.meta.dir, '..', 'migrations')

const options = process.argv.slice(2)
if (options.includes('--check')) await check()
else await writeMigrations(options)

/** Writes the migrations, takes every change back, and exits with 1 when there was one. */
async function check(): Promise<never> {
  const before = await readFolder()
  await writeMigrations([])
  const after = await readFolder()
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  )
  for (const path of changed) {
    const text = before.get(path)
    await (text === undefined ? rm(path) : Bun.write(path, text))
  }
  if (changed.length > 0) console.error(`Run \`bun run migrations\`: it changes ${changed.sort().join(', ')}`)
  process.exit(changed.length > 0 ? 1 : 0)
}

/** Returns the text of every file below the folder by its path. */
async function readFolder(): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(await Promise.all(paths.map(async (path) => [path, await Bun.file(path).text()] as const)))
}

async function writeMigrations(asked: readonly string[]): Promise<void> {
  await generate(asked)
  await makeTablesStrict()
  await writeList()
}

async function generate(asked: readonly string[]): Promise<void> {
  const child = Bun.spawn(['bunx', 'drizzle-kit', 'generate', '--config=scripts/drizzle.config.ts', ...asked], {
    stdout: 'inherit',
    stderr: 'inherit',
  })
  if ((await child.exited) !== 0) process.exit(1)
}

/** drizzle-kit cannot write STRICT tables, which make SQLite check the types that the schema names. */
async function makeTablesStrict(): Promise<void> {
  for (const file of sqlFiles()) {
    const path = join(folder, file)
    const sql = await Bun.file(path).text()
    const strict = sql.replace(/(CREATE TABLE [^;]*\n\));/g, '$1 STRICT;')
    if (strict !== sql) await Bun.write(path, strict)
  }
}

async function writeList(): Promise<void> {
  const names = sqlFiles().map((file) => file.replace(/\.sql$/, ''))
  const imports = names.map((name, index) => `import sql${index} from './${name}.sql' with { type: 'text' }`)
  const entries = names.map((name, index) => `  { name: '${name}', sql: sql${index} },`)
  await Bun.write(
    join(folder, 'list.ts'),
    `// Written by \`bun run migrations\`.\n${imports.join('\n')}\n\n/** Every migration in order, embedded as text. */\nexport const migrations = [\n${entries.join('\n')}\n]\n`,
  )
}

function sqlFiles(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
}

/**
 * `bun run migrations`: writes what the tables changed as a new SQL file and lists all files for embedding; `--check` only
 * says whether it is up to date.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { checkMigrations } from './gate/migrations.ts'

const folder = join(import.meta.dir, '..', 'migrations')

const options = process.argv.slice(2)
if (options.includes('--check')) {
  const { isOk, output } = await checkMigrations(join(folder, '..'), async () => {
    await writeMigrations([])
    return { isOk: true, output: '' }
  })
  if (!isOk) console.error(output)
  process.exit(isOk ? 0 : 1)
}
await writeMigrations(options)

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

import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { BunPlugin } from 'bun'
import { BUNDLING, leaveOut } from './bundling.ts'
import { readInputs } from './packages.ts'

const root = join(import.meta.dir, '../..')
/** A module that stands in no file: where the bundler would look for it. */
const ENTRY = join(root, 'packed-library.js')
const NAMESPACE = 'packed'
/** Its place in the checkout is always the same: it has a say in the bytes of the executable. */
const CACHE = join(root, 'node_modules/.cache/stead-libraries')
/** Higher levels take longer and spare nothing; Brotli at its best takes five times as long for a hundred kilobytes less. */
const ZSTANDARD_LEVEL = 19

/**
 * Libraries that the program imports when somebody first needs them, by how it names them. What stands on one line is
 * packed together, because one hands its objects to another.
 */
const LIBRARIES: readonly (readonly string[])[] = [
  ['gpt-tokenizer/encoding/o200k_base'],
  ['unpdf'],
  ['linkedom', '@mozilla/readability', 'turndown'],
  ['isomorphic-git'],
  ['@modelcontextprotocol/client'],
  ['@modelcontextprotocol/server'],
  ['viem', 'viem/accounts', 'viem/ens', 'siwe', 'mppx', 'mppx/server', '@x402/fetch', '@x402/evm/exact/client'],
  ['ai', '@ai-sdk/openai-compatible'],
  ['age-encryption'],
  ['dockerode'],
  ['stripe'],
  ['nodemailer'],
  ['openid-client'],
  ['grammy', '@grammyjs/auto-retry'],
  ['@discordjs/rest', '@discordjs/ws', 'discord-api-types/v10'],
  ['@slack/web-api', '@slack/socket-mode'],
  ['yaml'],
  ['@opentelemetry/exporter-trace-otlp-http', '@opentelemetry/sdk-trace', '@opentelemetry/resources'],
]

type Packed = { file: string; key: string; names: readonly string[] }

/**
 * Carries `LIBRARIES` as compressed text. As code that is parsed beforehand they take ten times as much of the executable,
 * and memory from the start; unpacked, each takes some ten milliseconds, once.
 * @returns a plugin for the bundler, and the files that the libraries are made from.
 * @throws when a library does not build or does not load.
 */
export async function packLibraries(): Promise<{ plugin: BunPlugin; inputs: string[] }> {
  const packed = new Map<string, Packed>()
  const inputs: string[] = []
  for (const specifiers of LIBRARIES) {
    const built = await bundleTogether(specifiers)
    inputs.push(...built.inputs)
    const file = await pack(specifiers[0]?.replace(/\W+/g, '-') ?? '', built.text)
    for (const [key, names] of await listNames(built.text)) {
      packed.set(specifiers[Number(key.slice(1))] ?? '', { file, key, names })
    }
  }
  return { plugin: createPlugin(packed), inputs }
}

/** What was compressed before is taken again: tests build several programs. */
async function pack(name: string, text: string): Promise<string> {
  const file = join(CACHE, `${name}-${Bun.hash(`${Bun.version} ${text}`).toString(36)}.js.zst`)
  if (await Bun.file(file).exists()) return file
  // Other builds may be at it as well.
  const part = `${file}.${process.pid}`
  await Bun.write(part, await Bun.zstdCompress(text, { level: ZSTANDARD_LEVEL }))
  await rename(part, file)
  return file
}

async function bundleTogether(specifiers: readonly string[]): Promise<{ text: string; inputs: string[] }> {
  const entry = specifiers.map((specifier, index) => `export * as m${index} from '${specifier}'\n`).join('')
  const result = await Bun.build({
    ...BUNDLING,
    entrypoints: [ENTRY],
    files: { [ENTRY]: entry },
    target: 'bun',
    plugins: [leaveOut],
  })
  const [output, ...others] = result.outputs
  if (!result.success || !output || others.length > 0)
    throw new AggregateError(result.logs, `${specifiers.join(', ')} do not pack into one module`)
  return { text: await output.text(), inputs: readInputs(result).filter((path) => path !== ENTRY) }
}

/** What each library of a packed module exports. The module is loaded for it, so that none is carried that does not load. */
async function listNames(text: string): Promise<[key: string, names: string[]][]> {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  const libraries: Record<string, object> = await import(url)
  URL.revokeObjectURL(url)
  return Object.entries(libraries).map(([key, library]) => [key, Object.keys(library)])
}

function createPlugin(packed: ReadonlyMap<string, Packed>): BunPlugin {
  return {
    name: 'packed-libraries',
    setup(builder) {
      builder.onResolve({ filter: /^[^./]/ }, ({ path }) =>
        packed.has(path) ? { path, namespace: NAMESPACE } : undefined,
      )
      builder.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => {
        const library = packed.get(path)
        if (!library) throw new Error(`${path} is not packed`)
        return { contents: writeModule(library), loader: 'js', resolveDir: root }
      })
    },
  }
}

/** A module with the exports of the library, which unpacks it when it is evaluated. */
function writeModule({ file, key, names }: Packed): string {
  const [own, withDefault] = [names.filter((name) => name !== 'default'), names.includes('default')]
  return [
    `import { unpackLibrary } from ${JSON.stringify(join(root, 'src/core/libraries/unpack-library.ts'))}`,
    `import file from ${JSON.stringify(file)} with { type: 'file' }`,
    `const { ${key}: library } = await unpackLibrary(file)`,
    ...own.map((name, index) => `const v${index} = library.${name}\nexport { v${index} as ${name} }`),
    ...(withDefault ? ['export default library.default'] : []),
  ].join('\n')
}

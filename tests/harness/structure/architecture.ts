import { dirname, join, normalize } from 'node:path'
import { parseSync } from 'oxc-parser'

/** Source text by path from the root of the checkout. */
export type Sources = ReadonlyMap<string, string>

/** The layers each layer may import besides itself. `main.ts` and `cli/` are above all layers and unrestricted. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  'src/core': [],
  'src/db': ['src/core'],
  'src/http': ['src/core', 'src/db'],
  'src/adapters': ['src/core'],
  'src/jobs': ['src/core', 'src/db'],
  'src/features': ['src/http', 'src/adapters', 'src/jobs', 'src/db', 'src/core'],
  'src/server': ['src/features', 'src/http', 'src/adapters', 'src/jobs', 'src/db', 'src/core', 'migrations'],
  'src/serve.ts': [
    'src/server',
    'src/features',
    'src/http',
    'src/adapters',
    'src/jobs',
    'src/db',
    'src/core',
    'migrations',
  ],
  'src/agent': ['src/core', 'src/http'],
  web: [],
  migrations: [],
}
/** The domains of `src/features` in dependency order: each imports only those before it. */
export const DOMAINS: readonly string[] = [
  'accounts',
  'agents',
  'ai',
  'payments',
  'conversations',
  'web-tools',
  'monitoring',
  'admin',
]
/** Types that every domain receives. */
const BASE = 'src/features/base.ts'
const FREE = ['src/main.ts', 'src/cli', 'scripts', 'tests']
/** Additional imports of tests: the harness and the database schema. */
const FOR_TESTS = ['tests/harness', 'migrations']

/** Files that may read the environment; all others receive their settings. */
const READS_ENVIRONMENT = ['src/main.ts', 'src/cli', 'scripts', 'tests']

const STATIC_IMPORT = /^(?:import|export)\b[^'"]*?\bfrom\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]/gm
/** Matches names imported as values from an adapter, including inline types. */
const ADAPTER_VALUES = /^import\s*\{([^}]*)\}\s*from\s*['"][^'"]*\/adapters\/[^'"]+['"]/gm
const DYNAMIC_IMPORT = /\b(?:import|require)\(\s*['"]([^'"]+)['"]/g

/** Maximum files of a folder; pages in `web/docs` are not limited. */
const MOST_FILES = 25

/** Returns the folders of `paths` with too many files, sorted. */
export function findFullFolders(paths: readonly string[]): string[] {
  const folders = Map.groupBy(
    paths.filter((path) => !path.startsWith('web/docs/')),
    dirname,
  )
  const full = [...folders].filter(([, { length }]) => length > MOST_FILES)
  return full.map(([folder, { length }]) => `${folder} has ${length} files, more than ${MOST_FILES}`).sort()
}

const MOST_LINES = 80
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Returns the functions of `text` that are too long. Functions that register routes are lists, so they are not limited. */
export function findLongFunctions(file: string, text: string): string[] {
  const long: string[] = []
  const look = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return
    if ('type' in node && typeof node.type === 'string' && FUNCTIONS.has(node.type)) {
      const { start, end } = node as unknown as { start: number; end: number }
      const lines = text.slice(start, end).split('\n').length
      const line = text.slice(0, start).split('\n').length
      const registersRoutes = /\bendpoint\(/.test(text.slice(start, end))
      if (lines > MOST_LINES && !registersRoutes)
        long.push(`${file}:${line} is a function of ${lines} lines, more than ${MOST_LINES}`)
    }
    for (const child of Object.values(node)) look(child)
  }
  look(parseSync(file, text).program)
  return long
}

/** Returns every violation of the import and code rules, one line each, sorted. */
export function findViolations(sources: Sources): string[] {
  const violations: string[] = []
  for (const [file, text] of sources) {
    for (const target of importsOf(file, text)) {
      const reason = judgeImport(file, target)
      if (reason) violations.push(`${file} imports ${target}: ${reason}`)
    }
    for (const name of adaptersMadeIn(file, text))
      violations.push(`${file}: ${name} belongs in the open.ts of the domain`)
    for (const reason of judgeCode(file, text)) violations.push(`${file}: ${reason}`)
  }
  for (const circle of findCircles(importsOfFiles(sources))) violations.push(`circle: ${circle.join(' → ')}`)
  for (const circle of findCircles(importsOfFeatures(sources)))
    violations.push(`circle of features: ${circle.join(' → ')}`)
  return violations.sort()
}

/** Returns the imports of `file`, including types: project files by path from the root, packages by name. */
export function importsOf(file: string, text: string): string[] {
  const specifiers = [...text.matchAll(STATIC_IMPORT), ...text.matchAll(DYNAMIC_IMPORT)].map(
    (match) => match[1] ?? match[2] ?? '',
  )
  return specifiers.map((specifier) =>
    specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : specifier,
  )
}

function judgeImport(file: string, target: string): string | undefined {
  if (!isOurs(target)) return judgePackage(file, target)
  if (isIn(file, FREE)) return undefined
  const layer = layerOf(file)
  if (!layer) return 'its own file is in no layer'
  if (isTest(file) && isIn(target, FOR_TESTS)) return undefined
  if (layer === 'web' && isSchemas(target)) return undefined
  if (isIn(target, [layer])) return layer === 'src/features' ? judgeFeatures(file, target) : undefined
  return isIn(target, BELOW[layer] ?? []) ? undefined : `${layer} must not see it`
}

/** Features call the services of features in their own or a lower domain, never another feature's routes. Tests are unrestricted. */
function judgeFeatures(file: string, target: string): string | undefined {
  const isRoute = /\/(web|backend|summarizer|routes)\.tsx?$/.test(target)
  if (isRoute && featureOf(file) !== featureOf(target)) return "another feature's routes"
  if (target === BASE) return undefined
  const here = DOMAINS.indexOf(domainOf(file) ?? '')
  const there = DOMAINS.indexOf(domainOf(target) ?? '')
  if (here < 0 || there < 0) return 'its own file is in no domain'
  if (isTest(file)) return undefined
  return there > here ? `domain ${domainOf(target)} is above ${domainOf(file)}` : undefined
}

/** Returns the adapter constructors a feature file imports; only an `open.ts` may create adapters. */
function adaptersMadeIn(file: string, text: string): string[] {
  if (!isIn(file, ['src/features']) || isTest(file) || file.endsWith('/open.ts')) return []
  return [...text.matchAll(ADAPTER_VALUES)].flatMap(
    ([, names = '']) => names.match(/(?<!type )\bcreate[A-Z]\w*/g) ?? [],
  )
}

function judgePackage(file: string, target: string): string | undefined {
  const isDriver = target === 'better-sqlite3' || target.startsWith('drizzle-orm/better-sqlite3')
  return isDriver && !isIn(file, ['src/db', 'scripts', 'tests']) ? 'only src/db knows the driver' : undefined
}

/** Checks rules on the code itself, without comments, which the transpiler removes. */
function judgeCode(file: string, text: string): string[] {
  const code = new Bun.Transpiler({ loader: file.endsWith('.tsx') ? 'tsx' : 'ts' }).transformSync(text)
  const isBrowser = isIn(file, ['web'])
  const rules: [boolean, RegExp, string][] = [
    [!isBrowser && !isIn(file, READS_ENVIRONMENT), /\b(process|Bun)\.env\b/, 'reads the environment'],
    [isIn(file, ['src/features']) && !isTest(file), /(?<![.\w$])fetch\(|globalThis\.fetch/, 'calls the global fetch'],
    [
      !isBrowser && !isIn(file, ['src/db', 'scripts', 'tests']),
      /\.transaction\(/,
      'opens a transaction outside src/db',
    ],
    [
      isIn(file, ['src/features', 'src/server', 'src/agent']) && !isTest(file),
      /\breq\.(?:json|text|arrayBuffer|bytes|blob|formData|parseBody)\(|\breq\.raw\.(?:body|json|text|arrayBuffer)\b/,
      'reads a body past http/bodies/body.ts, which bounds its size and its time',
    ],
  ]
  return rules.filter(([holds, pattern]) => holds && pattern.test(code)).map(([, , reason]) => reason)
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>

function importsOfFiles(sources: Sources): Graph {
  const targets = (file: string, text: string) => new Set(importsOf(file, text).filter((path) => sources.has(path)))
  return new Map([...sources].map(([file, text]) => [file, targets(file, text)]))
}

/** Returns the import graph between features and between adapters, without tests. */
function importsOfFeatures(sources: Sources): Graph {
  const features = new Map<string, Set<string>>()
  for (const [file, targets] of importsOfFiles(sources)) {
    const feature = featureOf(file)
    if (feature === undefined || isTest(file)) continue
    const others = [...targets].map(featureOf).filter((other) => other !== undefined && other !== feature)
    features.set(feature, new Set([...(features.get(feature) ?? []), ...others.filter((other) => other !== undefined)]))
  }
  return features
}

/** Describes every feature with the features it imports, in dependency order of the domains. */
export function describeFeatures(sources: Sources): string {
  const features = importsOfFeatures(sources)
  const rank = (feature: string) => DOMAINS.findIndex((domain) => feature.startsWith(`${domain}/`))
  const inOrder = [...features.keys()].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
  return inOrder
    .map((feature) => `${feature} → ${[...(features.get(feature) ?? [])].sort().join(', ') || 'nothing'}`)
    .join('\n')
}

/** Returns each import cycle once, starting at its first name. */
function findCircles(graph: Graph): string[][] {
  const circles: string[][] = []
  const done = new Set<string>()
  const visit = (name: string, path: string[]) => {
    if (path.includes(name)) circles.push(fromFirst(path.slice(path.indexOf(name))))
    if (done.has(name) || path.includes(name)) return
    for (const target of graph.get(name) ?? []) visit(target, [...path, name])
    done.add(name)
  }
  for (const name of [...graph.keys()].sort()) visit(name, [])
  return circles
}

function fromFirst(circle: string[]): string[] {
  const start = circle.indexOf([...circle].sort()[0] ?? '')
  const turned = [...circle.slice(start), ...circle.slice(0, start)]
  return [...turned, turned[0] ?? '']
}

function layerOf(file: string): string | undefined {
  return Object.keys(BELOW).find((layer) => isIn(file, [layer]))
}

function domainOf(file: string): string | undefined {
  return file.split('/')[2]
}

/** Returns `accounts/keys` for `src/features/accounts/keys/list.ts`, `adapters/git` for `src/adapters/git/git.ts`. */
function featureOf(file: string): string | undefined {
  if (isIn(file, ['src/features'])) return file.split('/').slice(2, 4).join('/')
  return isIn(file, ['src/adapters']) ? file.split('/').slice(1, -1).join('/') : undefined
}

function isOurs(target: string): boolean {
  return /^(src|web|tests|scripts|migrations)\//.test(target)
}

function isIn(file: string, places: readonly string[]): boolean {
  return places.some((place) => file === place || file.startsWith(`${place}/`))
}

function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file)
}

function isSchemas(file: string): boolean {
  return /^src\/features\/[^/]+\/[^/]+\/schemas\.ts$/.test(file)
}

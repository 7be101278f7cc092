import { dirname, join, normalize } from 'node:path'

/** Source text by path from the root of the checkout. */
export type Sources = ReadonlyMap<string, string>

/** What each floor may import of ours, itself apart. `main.ts` and `cli/` stand above all of them and are free. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  'src/core': [],
  'src/db': ['src/core'],
  'src/http': ['src/core', 'src/db'],
  'src/adapters': ['src/core'],
  'src/jobs': ['src/core', 'src/db'],
  'src/features': ['src/http', 'src/adapters', 'src/jobs', 'src/db', 'src/core'],
  'src/apps': ['src/features', 'src/http', 'src/adapters', 'src/jobs', 'src/db', 'src/core', 'migrations'],
  'src/serve.ts': [
    'src/apps',
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
const FREE = ['src/main.ts', 'src/cli', 'scripts', 'tests']
/** What a test beside the code may import in addition: the harness, and the schema to run on. */
const FOR_TESTS = ['tests/harness', 'migrations']

/** Files that read the environment: everything else gets its settings handed. */
const READS_ENVIRONMENT = ['src/main.ts', 'src/cli', 'scripts', 'tests']

const STATIC_IMPORT = /^(?:import|export)\b[^'"]*?\bfrom\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]/gm
const DYNAMIC_IMPORT = /\b(?:import|require)\(\s*['"]([^'"]+)['"]/g

/** Every way in which `sources` break the house's rules (design, 1), one line each, sorted; empty when they keep them. */
export function findViolations(sources: Sources): string[] {
  const violations: string[] = []
  for (const [file, text] of sources) {
    for (const target of importsOf(file, text)) {
      const reason = judgeImport(file, target)
      if (reason) violations.push(`${file} imports ${target}: ${reason}`)
    }
    for (const reason of judgeCode(file, text)) violations.push(`${file}: ${reason}`)
  }
  for (const circle of findCircles(sources)) violations.push(`circle: ${circle.join(' → ')}`)
  return violations.sort()
}

/** What `file` imports, type imports included: our files by path from the root, packages by name. */
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
  const floor = floorOf(file)
  if (!floor) return 'its own file stands on no floor'
  if (isTest(file) && isIn(target, FOR_TESTS)) return undefined
  if (floor === 'web' && isSchemas(target)) return undefined
  if (isIn(target, [floor])) return floor === 'src/features' ? judgeRooms(file, target) : undefined
  return isIn(target, BELOW[floor] ?? []) ? undefined : `${floor} must not see it`
}

/** Rooms call other rooms' services, never their routes. */
function judgeRooms(file: string, target: string): string | undefined {
  const isRoute = /\/(web|backend|summarizer)\.tsx?$/.test(target)
  return isRoute && roomOf(file) !== roomOf(target) ? "another room's routes" : undefined
}

function judgePackage(file: string, target: string): string | undefined {
  const isDriver = target === 'better-sqlite3' || target.startsWith('drizzle-orm/better-sqlite3')
  return isDriver && !isIn(file, ['src/db', 'scripts', 'tests']) ? 'only src/db knows the driver' : undefined
}

/** Rules on what the code does; comments do not count, so they read what the transpiler leaves. */
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
      isIn(file, ['src/features', 'src/apps', 'src/agent']) && !isTest(file),
      /\breq\.(?:json|text|arrayBuffer|bytes|blob|formData|parseBody)\(|\breq\.raw\.(?:body|json|text|arrayBuffer)\b/,
      'reads a body past http/body.ts, which bounds its size and its time',
    ],
  ]
  return rules.filter(([holds, pattern]) => holds && pattern.test(code)).map(([, , reason]) => reason)
}

/** Circles of imports, each told once, from its first file by name. */
function findCircles(sources: Sources): string[][] {
  const circles: string[][] = []
  const done = new Set<string>()
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) circles.push(fromFirst(path.slice(path.indexOf(file))))
    if (done.has(file) || path.includes(file)) return
    for (const target of importsOf(file, sources.get(file) ?? ''))
      if (sources.has(target)) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of [...sources.keys()].sort()) visit(file, [])
  return circles
}

function fromFirst(circle: string[]): string[] {
  const start = circle.indexOf([...circle].sort()[0] ?? '')
  const turned = [...circle.slice(start), ...circle.slice(0, start)]
  return [...turned, turned[0] ?? '']
}

function floorOf(file: string): string | undefined {
  return Object.keys(BELOW).find((floor) => isIn(file, [floor]))
}

function roomOf(file: string): string | undefined {
  return file.split('/')[2]
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
  return /^src\/features\/[^/]+\/schemas\.ts$/.test(file)
}

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { plugin } from 'bun'
import typescript from 'typescript-5'
import manifest from '../../package.json' with { type: 'json' }
import { readConfig } from '../../src/core/config.ts'
import { writeApiDocument } from '../../src/server/api-document/document.ts'
import { listRoutes } from '../../src/server/api-document/routes.ts'
import { createEmptyApp } from '../../src/server/empty-app.ts'

const API_NAMES = ['web', 'backend', 'summarizer'] as const

const DECLARATION = `import type { SteadClientOf, SteadClientOptions } from './options.d.ts'
import type { paths as BackendPaths } from './backend.d.ts'
import type { paths as SummarizerPaths } from './summarizer.d.ts'
import type { paths as WebPaths } from './web.d.ts'

export type { BackendPaths, SteadClientOptions, SummarizerPaths, WebPaths }
export type SteadClient = SteadClientOf<WebPaths, BackendPaths, SummarizerPaths>
/** Calls Stead by the paths and schemas of its OpenAPI documents. */
export declare function createSteadClient(options: SteadClientOptions): SteadClient
`

/** Writes the package of the typed client into `folder`: \`bun add FOLDER\` gives \`import … from 'stead/client'\`. */
export async function writeClient(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const { openapiTS, astToString } = await loadGenerator()
  const { routes } = createEmptyApp(readConfig({ DATA_DIR: folder }))
  const declared = listRoutes(routes)
  for (const api of API_NAMES) {
    const document = await writeApiDocument(declared, api)
    // The client parses JSON, so no other types are needed.
    const types = await openapiTS(JSON.stringify(document), { silent: true })
    await Bun.write(join(folder, `${api}.d.ts`), astToString(types.map(allowUndefined)))
  }
  const source = await Bun.file(join(import.meta.dir, '..', '..', 'web', 'api', 'stead-client.ts')).text()
  const code = new Bun.Transpiler({ loader: 'ts' }).transformSync(source)
  await Promise.all([
    Bun.write(join(folder, 'client.js'), code),
    Bun.write(join(folder, 'client.d.ts'), DECLARATION),
    Bun.write(join(folder, 'options.d.ts'), toDeclarations(source)),
    Bun.write(join(folder, 'package.json'), `${JSON.stringify(toPackage(), null, 2)}\n`),
  ])
}

/** JSON omits undefined values, so an optional property also accepts undefined under exactOptionalPropertyTypes. */
function allowUndefined(node: typescript.Node): typescript.Node {
  const { factory, isPropertySignature, SyntaxKind, transform, visitEachChild } = typescript
  const visitIn = (context: typescript.TransformationContext) => {
    const visit = (child: typescript.Node): typescript.Node => {
      const seen = visitEachChild(child, visit, context)
      if (!isPropertySignature(seen) || !seen.questionToken || !seen.type) return seen
      if (seen.type.kind === SyntaxKind.NeverKeyword) return seen
      const type = factory.createUnionTypeNode([seen.type, factory.createKeywordTypeNode(SyntaxKind.UndefinedKeyword)])
      return factory.updatePropertySignature(seen, seen.modifiers, seen.name, seen.questionToken, type)
    }
    return visit
  }
  return transform(node, [visitIn]).transformed[0] ?? node
}

/** Returns the type declarations of the client’s source. */
function toDeclarations(source: string): string {
  return source
    .slice(0, source.indexOf('/** Speaks to'))
    .replace('import createFetchClient, { type Client }', 'import type { Client }')
}

function toPackage() {
  const { name, version, license, dependencies } = manifest
  return {
    name,
    version,
    license,
    type: 'module',
    exports: { './client': { types: './client.d.ts', default: './client.js' } },
    dependencies: { 'openapi-fetch': dependencies['openapi-fetch'] },
  }
}

/** openapi-typescript needs the compiler interface of TypeScript 5, which version 7 does not have. */
async function loadGenerator() {
  plugin({
    name: 'compiler of version 5',
    setup: (build) =>
      void build.module('typescript', () => ({ exports: { default: typescript, ...typescript }, loader: 'object' })),
  })
  const { default: openapiTS, astToString } = await import('openapi-typescript')
  return { openapiTS, astToString }
}

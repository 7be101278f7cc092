import { Argument, type Command } from 'commander'
import { readConfig } from '../core/config.ts'
import { addExample } from './example.ts'
import { readEnvironment } from './settings/environment.ts'

/** Adds `openapi`: prints the OpenAPI document of an API. */
export function openapiCommand(program: Command): void {
  addExample(program.command('openapi'), 'stead openapi backend > backend.json')
    .description('prints the OpenAPI 3.1 document of a port, as GET /openapi.json answers it')
    .addArgument(new Argument('[port]', 'whose interface').choices(['web', 'backend', 'summarizer']).default('web'))
    .option('--json', 'print it in one line', false)
    .action(async (port: 'web' | 'backend' | 'summarizer', { json }: { json: boolean }) => {
      const { createEmptyApp } = await import('../server/empty-app.ts')
      const { writeApiDocument } = await import('../server/api-document/document.ts')
      const { listRoutes } = await import('../server/api-document/routes.ts')
      const { routes } = createEmptyApp(readConfig(readEnvironment()))
      const document = await writeApiDocument(listRoutes(routes), port)
      // Exit explicitly: the opened platform holds timers.
      process.stdout.write(`${JSON.stringify(document, null, json ? 0 : 2)}\n`, () => process.exit(0))
    })
}

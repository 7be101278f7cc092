import { join } from 'node:path'
import { hasImage } from '../../../src/adapters/runtimes/engine/images.ts'
import { findEngine, type TestEngine } from './engine.ts'

const BUILD = join(import.meta.dir, '..', '..', '..', 'scripts', 'openclaw-image.sh')

/** An engine with OpenClaw images, oldest version first. */
type OpenClawEngine = TestEngine & { images: readonly string[] }

/**
 * Returns an engine with an image of each version, built from the npm registry and Debian packages if missing. Returns
 * null and logs a warning without an engine, or unless STEAD_TEST_OPENCLAW is set.
 */
export async function findOpenClaw(...versions: string[]): Promise<OpenClawEngine | null> {
  if (!process.env.STEAD_TEST_OPENCLAW) {
    console.warn('OpenClaw tests are skipped: they take minutes. STEAD_TEST_OPENCLAW=1 runs them.')
    return null
  }
  const found = await findEngine()
  if (!found) return null
  const images = versions.map((version) => `openclaw-agent:${version}`)
  for (const [index, image] of images.entries()) {
    if (await hasImage(found.engine, image)) continue
    await build(found.dockerHost, versions[index] ?? '', image)
  }
  return { ...found, images }
}

async function build(dockerHost: string, version: string, image: string): Promise<void> {
  const host = dockerHost.startsWith('/') ? `unix://${dockerHost}` : dockerHost
  const child = Bun.spawn([BUILD, version, image], { env: { ...process.env, DOCKER_HOST: host }, stderr: 'pipe' })
  const [code, errors] = await Promise.all([child.exited, new Response(child.stderr).text()])
  if (code !== 0) throw new Error(`${BUILD} ended with ${code}: ${errors}`)
}

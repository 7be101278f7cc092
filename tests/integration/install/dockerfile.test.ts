import { expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '../../../src/core/version.ts'
import { findEngine } from '../../harness/engines/engine.ts'
import { findExecutable, importBase } from '../../harness/engines/platform-image.ts'
import { tempFolder } from '../../harness/temp-folder.ts'

const ROOT = join(import.meta.dir, '../..', '..')
const PATIENCE_MS = 600_000
const executable = findExecutable()
const hasDocker = executable !== null && Bun.which('docker') !== null
const engine = hasDocker ? await findEngine() : null
if (!engine) console.warn('docker build is not tested: that takes the Docker CLI, an engine and the executable.')

test.skipIf(!engine)(
  'docker build --target prebuilt: the image runs dist/stead, and no other file of dist is sent',
  async () => {
    if (!engine || !executable) return
    using context = tempFolder()
    for (const name of ['Dockerfile', '.dockerignore']) copyFileSync(join(ROOT, name), context.file(name))
    mkdirSync(context.file('dist'))
    copyFileSync(executable, context.file('dist/stead'))
    writeFileSync(context.file('dist/stead.cdx.json'), '{}')
    const base = await importBase(engine.docker, executable)
    const image = `stead-test-prebuilt:${process.pid}`
    const docker = (...args: string[]) => {
      const { exitCode, stdout, stderr } = Bun.spawnSync(['docker', '--host', engine.dockerHost, ...args], {
        // BuildKit would look up the local base image in a registry.
        env: { PATH: process.env.PATH ?? '', HOME: context.path, DOCKER_BUILDKIT: '0' },
      })
      return { exitCode, said: `${stdout}${stderr}` }
    }
    const build = ['build', '--network', 'none', '--build-arg', `BASE=${base}`, '--target', 'prebuilt', '--tag', image]
    try {
      const built = docker(...build, context.path)
      expect([built.exitCode, built.exitCode === 0 ? '' : built.said]).toEqual([0, ''])
      const { Config } = await engine.docker.getImage(image).inspect()
      expect(Config.Env).toEqual(expect.arrayContaining(['DEPLOYMENT_MODE=home', 'AGENT_RUNTIME=process']))
      const run = docker('run', '--rm', '--network', 'none', '--read-only', '--tmpfs', '/data', image, 'version')
      expect(run).toEqual({ exitCode: 0, said: expect.stringContaining(`stead ${VERSION}`) })
      const other = docker(...build, '--build-arg', 'EXECUTABLE=dist/stead.cdx.json', context.path)
      expect(other.exitCode).not.toBe(0)
    } finally {
      docker('image', 'rm', '--force', image)
    }
  },
  PATIENCE_MS,
)

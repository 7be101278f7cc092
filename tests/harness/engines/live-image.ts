import { existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type Docker from 'dockerode'
import { pack } from 'tar-stream'
import { orNull } from '../../../src/adapters/runtimes/engine/engine.ts'

const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path))
const REPOSITORY = 'stead-test-live'
const AGENT_USER = { uid: 10_001, gid: 10_001 }
/** Start-up behaviour of an image: `broken` corrupts its data and exits. */
const BEFORE = {
  good: 'true',
  better: 'true',
  broken: 'echo spoilt > /data/spoilt; echo "cannot run"; sleep 0.1; exit 1',
}

/** Minimal agent images of two megabytes each. */
export type LiveImages = Record<keyof typeof BEFORE, string>

/** Imports the three images. Their agent serves the files in `/data`. */
export async function importLiveImages(docker: Docker): Promise<LiveImages> {
  return {
    good: await importImage(docker, 'good'),
    better: await importImage(docker, 'better'),
    broken: await importImage(docker, 'broken'),
  }
}

async function importImage(docker: Docker, tag: keyof typeof BEFORE): Promise<string> {
  if (BUSYBOX === undefined) throw new Error('There is no busybox')
  const reference = `${REPOSITORY}:${tag}`
  if (await orNull(docker.getImage(reference).inspect())) return reference
  const archive = pack()
  for (const name of ['bin', 'usr', 'usr/local', 'usr/local/bin', 'www', 'tmp'])
    archive.entry({ name, type: 'directory', mode: 0o755 })
  archive.entry({ name: 'data', type: 'directory', mode: 0o700, ...AGENT_USER })
  archive.entry({ name: 'www/data', type: 'symlink', linkname: '/data' })
  archive.entry({ name: 'bin/busybox', mode: 0o755 }, Buffer.from(await Bun.file(BUSYBOX).arrayBuffer()))
  for (const name of ['sh', 'wget', 'httpd', 'sleep', 'echo', 'true'])
    archive.entry({ name: `bin/${name}`, type: 'symlink', linkname: 'busybox' })
  const program = `#!/bin/busybox sh
PATH=/bin
if [ "$2" = --check ]; then exec wget -q -O /dev/null "http://127.0.0.1:$PORT/healthz"; fi
echo kept > /data/kept
${BEFORE[tag]}
exec httpd -f -p "$PORT" -h /www
`
  archive.entry({ name: 'usr/local/bin/stead', mode: 0o755 }, program)
  archive.entry({ name: 'www/healthz', mode: 0o644 }, '{"ok":true,"status":"live"}')
  archive.finalize()
  const changes = [
    'ENTRYPOINT ["/usr/local/bin/stead", "agent"]',
    `LABEL stead.runtime=stead stead.runtimeVersion=${tag === 'better' ? '2.0.0' : '1.0.0'}`,
    'VOLUME /data',
  ]
  await text(await docker.importImage(Readable.from(archive), { repo: REPOSITORY, tag, changes }))
  return reference
}

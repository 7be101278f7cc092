import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'

/** An image in the registry. `layers` are gzipped tar archives, or the size of a layer whose download never ends. */
type Offer = { labels: Record<string, string>; layers: (Uint8Array | number)[] }

const TYPES = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
}
const MISSING = '{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}'
/** Docker reports download progress for larger layers only. */
const REPORTED_BYTES = 1024 * 1024
const TRICKLE_MS = 20
/** An empty tar archive. */
const EMPTY_TAR = new Uint8Array(1024)

/** A layer with nothing in it. */
export const EMPTY_LAYER = new Uint8Array(gzipSync(EMPTY_TAR))

/**
 * Starts an image registry that implements what engines use. `offer` adds an image, `requests` are the requested paths
 * and those that were aborted, `waiting` counts the downloads that never end.
 */
export async function startRegistry() {
  const manifests = new Map<string, string>()
  const blobs = new Map<string, Uint8Array | number>()
  const requests: string[] = []
  let waiting = 0

  const keep = (content: Uint8Array): { digest: string; size: number } => {
    const digest = digestOf(content)
    blobs.set(digest, content)
    return { digest, size: content.length }
  }
  const sendForEver = (path: string, size: number, response: ServerResponse) => {
    waiting += 1
    // The engine's disconnect is noticed at the next write.
    const timer = setInterval(() => response.write(new Uint8Array(1)), TRICKLE_MS)
    response.on('close', () => {
      clearInterval(timer)
      waiting -= 1
      requests.push(`left ${path}`)
    })
    response.writeHead(200, { 'content-length': size }).write(new Uint8Array(REPORTED_BYTES))
  }
  const server = createServer(({ method, url: path = '/' }, response) => {
    requests.push(path)
    const manifest = manifests.get(path)
    const blob = blobs.get(path.split('/').at(-1) ?? '')
    if (manifest !== undefined) response.writeHead(200, toHeaders(manifest)).end(method === 'HEAD' ? '' : manifest)
    else if (typeof blob === 'number') sendForEver(path, blob, response)
    else if (blob || path === '/v2/') response.writeHead(200).end(blob ?? '{}')
    else response.writeHead(404).end(MISSING)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    host: `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    requests,
    waiting: () => waiting,
    offer(name: string, tag: string, { labels, layers }: Offer) {
      const described = layers.map((layer, index) => {
        if (typeof layer !== 'number') return { ...keep(layer), content: digestOf(EMPTY_TAR) }
        const digest = digestOf(Buffer.from(`${name}:${tag}:${index}`))
        blobs.set(digest, layer)
        return { digest, size: layer, content: digest }
      })
      const contents = described.map(({ content }) => content)
      const config = keep(Buffer.from(JSON.stringify(toConfig(labels, contents))))
      const manifest = JSON.stringify({
        schemaVersion: 2,
        mediaType: TYPES.manifest,
        config: { mediaType: TYPES.config, ...config },
        layers: described.map(({ digest, size }) => ({ mediaType: TYPES.layer, digest, size })),
      })
      for (const reference of [tag, digestOf(Buffer.from(manifest))])
        manifests.set(`/v2/${name}/manifests/${reference}`, manifest)
    },
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Engines identify layers by the digest of the unpacked content, so a shared digest would skip the download. */
function toConfig(Labels: Record<string, string>, contents: string[]) {
  return {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Labels },
    rootfs: { type: 'layers', diff_ids: contents },
    history: contents.map(() => ({ created_by: 'a test' })),
  }
}

function toHeaders(manifest: string): Record<string, string> {
  return {
    'content-type': TYPES.manifest,
    'content-length': String(Buffer.byteLength(manifest)),
    'docker-content-digest': digestOf(Buffer.from(manifest)),
  }
}

function digestOf(content: Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
